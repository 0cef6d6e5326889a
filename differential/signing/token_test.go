package signing

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/serviceaccount"

	"github.com/windlass-dev/windlass/host/signing"
)

// A token is upstream's to the byte, but for what ECDSA draws by lot.
func TestTokensAsUpstream(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	keys := []any{rsaKey}
	for _, c := range []elliptic.Curve{elliptic.P256(), elliptic.P384(), elliptic.P521()} {
		k, err := ecdsa.GenerateKey(c, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
	}

	for i, key := range keys {
		upstreams, err := serviceaccount.JWTTokenGenerator(serviceaccount.LegacyIssuer, key)
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		ours, err := signing.ParseTokenKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
		if err != nil {
			t.Fatal(err)
		}

		for n := range 20 {
			namespace, name := fmt.Sprint("ns-", n), []string{"default", "a.b", "x<y>&", "ünder"}[n%4]
			account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
				UID: types.UID(fmt.Sprint("u-", n))}}
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("token-", n),
				Annotations: map[string]string{corev1.ServiceAccountNameKey: name}}, Type: corev1.SecretTypeServiceAccountToken}
			claims, private := serviceaccount.LegacyClaims(*account, *secret)
			want, err := upstreams.GenerateToken(t.Context(), claims, private)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ours.Token(account, secret)
			if err != nil {
				t.Fatal(err)
			}
			if i > 0 { // the header and the claims
				got, want = got[:strings.LastIndex(got, ".")], want[:strings.LastIndex(want, ".")]
			}
			if got != want {
				t.Errorf("%T, account %s: %s, upstream's %s", key, name, got, want)
			}
		}
	}
}
