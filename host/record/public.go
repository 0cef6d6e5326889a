package record

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cluster-bootstrap/token/api"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
)

// secretName is which Secret data is of.
type secretName struct{ namespace, name string }

// nameIn reads it in a Secret's bytes.
func nameIn(raw []byte) (s secretName) {
	f := wire.Fields{Data: raw}
	for f.Next() {
		if f.Num != secretMeta || f.Type != wire.WireBytes {
			continue
		}
		m := wire.Fields{Data: f.Bytes}
		for m.Next() {
			switch m.Num {
			case metaName:
				s.name = string(m.Bytes)
			case metaNamespace:
				s.namespace = string(m.Bytes)
			}
		}
	}
	return s
}

// isPublic reports whether a value among a Secret's data is no secret, so that a sync that goes by it can be run again:
// certificates, what stands for a signature, what the Secret's own name says, and until when and for what a bootstrap
// token is good.
func (s secretName) isPublic(key string, value []byte) bool {
	text := string(value)
	id, isToken := strings.CutPrefix(s.name, api.BootstrapTokenSecretPrefix)
	isToken = isToken && s.namespace == metav1.NamespaceSystem
	switch {
	case key == corev1.ServiceAccountNamespaceKey:
		return text == s.namespace
	case isToken && key == api.BootstrapTokenIDKey:
		return text == id
	case isToken && key == api.BootstrapTokenExpirationKey:
		_, err := time.Parse(time.RFC3339, text)
		return err == nil
	case isToken && strings.HasPrefix(key, api.BootstrapTokenUsagePrefix):
		return text == "true" || text == "false"
	}
	return abi.IsPlaceholder(value) || isCertificates(value)
}
