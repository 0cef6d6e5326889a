package record

import (
	"bytes"
	"encoding/pem"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
)

// What is no secret in a Secret stays, so that the syncs of who works with it can be run again; whatever only looks
// like that is wiped.
func TestPublicDataStays(t *testing.T) {
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("certificate")})
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("key")})
	placeholder := abi.AppendPlaceholder(nil, [32]byte{1}, 100)

	const system, token = "kube-system", "bootstrap-token-abcdef"
	for _, x := range []struct {
		namespace, name, key string
		value                []byte
		stays                bool
	}{
		{"a", "s", "ca.crt", certificate, true},
		{"a", "s", "tls.crt", append(bytes.Clone(certificate), key...), false},
		{"a", "s", "tls.key", key, false},
		{"a", "s", "token", placeholder, true},
		{"a", "s", "token", append(bytes.Clone(placeholder), "secret"...), false},
		{"a", "s", "namespace", []byte("a"), true},
		{"a", "s", "namespace", []byte("other"), false},
		{"a", "s", "password", []byte("a"), false},
		{system, token, "token-id", []byte("abcdef"), true},
		{system, token, "token-id", []byte("uvwxyz"), false},
		{"a", token, "token-id", []byte("abcdef"), false},
		{system, "s", "token-id", []byte("s"), false},
		{system, token, "expiration", []byte("2026-01-01T00:00:00Z"), true},
		{system, token, "expiration", []byte("never"), false},
		{system, "s", "expiration", []byte("2026-01-01T00:00:00Z"), false},
		{system, token, "usage-bootstrap-signing", []byte("true"), true},
		{system, token, "usage-bootstrap-signing", []byte("0123456789abcdef"), false},
		{system, token, "token-secret", []byte("0123456789abcdef"), false},
	} {
		meta := metav1.ObjectMeta{Namespace: x.namespace, Name: x.name}
		for _, s := range []corev1.Secret{
			{ObjectMeta: meta, Data: map[string][]byte{x.key: x.value}},
			{ObjectMeta: meta, StringData: map[string]string{x.key: string(x.value)}},
		} {
			raw, err := s.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			r := redaction{found: map[string]bool{}}
			r.redactObject(secrets, raw)
			var left corev1.Secret
			if err := left.Unmarshal(raw); err != nil {
				t.Fatal(err)
			}
			got := string(left.Data[x.key]) + left.StringData[x.key]
			if (got == string(x.value)) != x.stays || r.wiped == x.stays {
				t.Errorf("%s of %s/%s, %q: wiped %v, %q stays", x.key, x.namespace, x.name, x.value, r.wiped, got)
			}
		}
	}
}
