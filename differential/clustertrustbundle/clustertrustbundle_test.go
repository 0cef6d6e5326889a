package clustertrustbundle

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	_ "unsafe" // for go:linkname

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	upstream "k8s.io/kubernetes/pkg/controller/certificates/clustertrustbundlepublisher"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/clustertrustbundle"
)
