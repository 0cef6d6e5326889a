package signing

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"maps"
	"strings"
	"testing"
	"time"

	"gopkg.in/go-jose/go-jose.v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cluster-bootstrap/token/jws"
	"k8s.io/cluster-bootstrap/util/secrets"
)

// pemOf is a private key in PEM.
func pemOf(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func newCurveKey(t *testing.T, c elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(c, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// account and its token's Secret.
func tokenObjects() (*corev1.ServiceAccount, *corev1.Secret) {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "till", UID: "u-1"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "till-token", UID: "u-2",
			Annotations: map[string]string{"kubernetes.io/service-account.name": "till", "kubernetes.io/service-account.uid": "u-1"}},
			Type: corev1.SecretTypeServiceAccountToken}
}

// A token says whose it is, by the algorithm of its key, and is good for whoever has the public one.
func TestToken(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for want, key := range map[string]crypto.Signer{"RS256": rsaKey, "ES256": newCurveKey(t, elliptic.P256()),
		"ES384": newCurveKey(t, elliptic.P384()), "ES512": newCurveKey(t, elliptic.P521())} {
		k, err := ParseTokenKey(pemOf(t, key))
		if err != nil {
			t.Fatal(want, err)
		}
		text, err := k.Token(tokenObjects())
		if err != nil {
			t.Fatal(want, err)
		}
		signed, err := jose.ParseSigned(text)
		if err != nil {
			t.Fatal(want, err)
		}

		payload, err := signed.Verify(key.Public())
		got := map[string]string{}
		if err == nil {
			err = json.Unmarshal(payload, &got)
		}
		if h := signed.Signatures[0].Protected; err != nil || h.Algorithm != want || len(h.KeyID) != 43 {
			t.Errorf("%s: %v, %v", want, h, err)
		}
		if !maps.Equal(got, map[string]string{"iss": "kubernetes/serviceaccount", "sub": "system:serviceaccount:shop:till",
			"kubernetes.io/serviceaccount/namespace": "shop", "kubernetes.io/serviceaccount/service-account.name": "till",
			"kubernetes.io/serviceaccount/service-account.uid": "u-1",
			"kubernetes.io/serviceaccount/secret.name":         "till-token"}) {
			t.Errorf("%s: %v", want, got)
		}
	}
}

// No token is made but for the account that the Secret names.
func TestNoToken(t *testing.T) {
	k, err := ParseTokenKey(pemOf(t, newCurveKey(t, elliptic.P256())))
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*corev1.ServiceAccount, *corev1.Secret){
		`of type "Opaque"`: func(_ *corev1.ServiceAccount, s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque },
		"being deleted": func(_ *corev1.ServiceAccount,
			s *corev1.Secret) {
			s.DeletionTimestamp = &metav1.Time{Time: now}
		},
		"in namespace": func(a *corev1.ServiceAccount, _ *corev1.Secret) { a.Namespace = "kube-system" },
		`the service account "till", not "admin"`: func(a *corev1.ServiceAccount, _ *corev1.Secret) { a.Name = "admin" },
		"which is another one now":                func(a *corev1.ServiceAccount, _ *corev1.Secret) { a.UID = "u-9" },
		`the service account ""`:                  func(_ *corev1.ServiceAccount, s *corev1.Secret) { s.Annotations = nil },
		"no UID": func(a *corev1.ServiceAccount, s *corev1.Secret) {
			a.UID = ""
			delete(s.Annotations, "kubernetes.io/service-account.uid")
		},
	} {
		a, s := tokenObjects()
		change(a, s)
		if token, err := k.Token(a, s); err == nil || token != "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", token, err, want)
		}
	}

	a, s := tokenObjects()
	delete(s.Annotations, "kubernetes.io/service-account.uid")
	if _, err := k.Token(a, s); err != nil {
		t.Errorf("a Secret that names no UID: %v", err)
	}
}

// A key that no token can be signed with is an error that says why.
func TestTokenKeys(t *testing.T) {
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for want, text := range map[string][]byte{
		"data does not contain":      []byte("x"),
		"must be 256, 384, or 521":   pemOf(t, newCurveKey(t, elliptic.P224())),
		"must be RSA or ECDSA":       pemOf(t, edwards),
		"data does not contain a va": {},
	} {
		if _, err := ParseTokenKey(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// bootstrapObjects are what a cluster's information is signed with.
func bootstrapObjects() (*corev1.ConfigMap, *corev1.Secret) {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-public", Name: "cluster-info"},
			Data: map[string]string{"kubeconfig": "clusters: []"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bootstrap-token-abcdef"},
			Type: "bootstrap.kubernetes.io/token", Data: map[string][]byte{"token-id": []byte("abcdef"),
				"token-secret": []byte("0123456789abcdef"), "usage-bootstrap-signing": []byte("true"),
				"expiration": []byte(now.Add(time.Second).Format(time.RFC3339))}}
}

// Whoever has the token can tell that the information is from whom it has it.
func TestBootstrap(t *testing.T) {
	info, token := bootstrapObjects()
	key, signature, err := Bootstrap(info, token, now)
	if err != nil || key != "jws-kubeconfig-abcdef" {
		t.Fatal(key, err)
	}
	if !jws.DetachedTokenIsValid(signature, info.Data["kubeconfig"], "abcdef", "0123456789abcdef") ||
		jws.DetachedTokenIsValid(signature, "clusters: [x]", "abcdef", "0123456789abcdef") {
		t.Errorf("the signature is %s", signature)
	}
	delete(token.Data, "expiration")
	if _, _, err := Bootstrap(info, token, now); err != nil {
		t.Errorf("a token that never expires: %v", err)
	}
}

// Nothing else is signed with a token, and nothing with anything else.
func TestNoBootstrap(t *testing.T) {
	for what, x := range map[string]struct {
		change func(*corev1.ConfigMap, *corev1.Secret)
		want   string
	}{
		"another map":       {func(c *corev1.ConfigMap, _ *corev1.Secret) { c.Name = "mine" }, "only the kubeconfig"},
		"another namespace": {func(c *corev1.ConfigMap, _ *corev1.Secret) { c.Namespace = "default" }, "only the kubeconfig"},
		"no kubeconfig":     {func(c *corev1.ConfigMap, _ *corev1.Secret) { c.Data = nil }, "only the kubeconfig"},
		"another secret": {func(_ *corev1.ConfigMap, s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque },
			"the secret is no bootstrap token"},
		"a token elsewhere": {func(_ *corev1.ConfigMap, s *corev1.Secret) { s.Namespace = "default" },
			"the secret is no bootstrap token"},
		"another name": {func(_ *corev1.ConfigMap, s *corev1.Secret) { s.Name = "token" }, "the secret's name isn't"},
		"another ID":   {func(_ *corev1.ConfigMap, s *corev1.Secret) { s.Data["token-id"] = []byte("uvwxyz") }, "the secret's name isn't"},
		"no secret":    {func(_ *corev1.ConfigMap, s *corev1.Secret) { s.Data["token-secret"] = nil }, "has no token-secret"},
		"expired": {func(_ *corev1.ConfigMap, s *corev1.Secret) { s.Data["expiration"] = []byte(now.Format(time.RFC3339)) },
			"the token has expired"},
		"no time": {func(_ *corev1.ConfigMap, s *corev1.Secret) { s.Data["expiration"] = []byte("soon") }, "the token has expired"},
		"not for signing": {func(_ *corev1.ConfigMap, s *corev1.Secret) { delete(s.Data, "usage-bootstrap-signing") },
			"isn't for signing"},
	} {
		info, token := bootstrapObjects()
		x.change(info, token)
		if _, signature, err := Bootstrap(info, token, now); err == nil || signature != "" ||
			!strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %q, %v", what, signature, err)
		}
	}
}

// Names and ends of tokens are read as upstream reads them.
func TestTokenTexts(t *testing.T) {
	for _, id := range []string{"abcdef", "012345", "abcde", "abcdefg", "ABCDEF", "abc-ef", "", "äbcde", "abcde\n"} {
		if _, want := secrets.ParseName("bootstrap-token-" + id); isTokenID(id) != want {
			t.Errorf("the ID %q: %v, upstream %v", id, isTokenID(id), want)
		}
	}
	for _, at := range []string{"", "soon", "2026-11-30T12:00:00Z", "2026-11-30T12:00:01Z", "2026-11-30T13:00:00+02:00", "2026-11-30",
		"2026-11-30T12:00:00.5Z", " 2026-11-30T12:00:01Z"} {
		want := secrets.HasExpired(&corev1.Secret{Data: map[string][]byte{"expiration": []byte(at)}}, now)
		if got := hasExpired(at, now); got != want {
			t.Errorf("the end %q: %v, upstream %v", at, got, want)
		}
	}
}
