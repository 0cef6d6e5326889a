package nodeipam

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	upstream "k8s.io/kubernetes/pkg/controller/nodeipam/ipam"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/nodeipam"
)

//go:linkname syncNode k8s.io/kubernetes/pkg/controller/nodeipam/ipam.(*rangeAllocator).syncNode
func syncNode(c any, ctx context.Context, key string) error

var nodes = corev1.SchemeGroupVersion.WithResource("nodes")
