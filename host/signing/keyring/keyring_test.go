package keyring

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/config"
)

// writeAuthority writes the files of an authority, and returns what configures them.
func writeAuthority(t *testing.T, folder, name string) config.KeyPair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}

	pair := config.KeyPair{CertFile: filepath.Join(folder, "ca.crt"), KeyFile: filepath.Join(folder, "ca.key")}
	writeFile(t, pair.CertFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	writeFile(t, pair.KeyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}))
	return pair
}

func writeFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// issuer has a request signed, and returns the name of the authority that did.
func issuer(t *testing.T, k *Keyring, signer string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	r := &certificatesv1.CertificateSigningRequest{
		Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: signer,
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: asked}),
			Usages:  []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth}}}
	r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{
		{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue}}

	signed, err := k.Certificate(r, time.Now())
	if err != nil {
		return err.Error()
	}
	block, _ := pem.Decode(signed)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return certificate.Issuer.CommonName
}

const (
	client  = certificatesv1.KubeAPIServerClientSignerName
	unknown = "kubernetes.io/legacy-unknown"
)

// The general pair signs for all; its files rotate, and what can't be used leaves the one before in use, with an error
// that names the file.
func TestRotation(t *testing.T) {
	folder := t.TempDir()
	c := config.Default()
	c.Signing.KeyPair = writeAuthority(t, folder, "first")
	var k Keyring
	if err := k.Configure(c); err != nil {
		t.Fatal(err)
	}
	for _, signer := range []string{client, unknown} {
		if got := issuer(t, &k, signer); got != "first" {
			t.Errorf("%s: signed by %q", signer, got)
		}
	}
	if got := issuer(t, &k, "example.com/other"); !strings.Contains(got, "there is no key for the signer") {
		t.Errorf("another signer: %s", got)
	}

	writeAuthority(t, folder, "second")
	if err := k.Refresh(); err != nil {
		t.Fatal(err)
	}
	if got := issuer(t, &k, client); got != "second" {
		t.Errorf("after a rotation: signed by %q", got)
	}

	// a key that isn't the certificate's, a file with two certificates, no file
	other := writeAuthority(t, t.TempDir(), "other")
	stranger, err := os.ReadFile(other.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	one, err := os.ReadFile(c.Signing.CertFile)
	if err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func(){
		"another key":      func() { writeFile(t, c.Signing.KeyFile, stranger) },
		"two certificates": func() { writeFile(t, c.Signing.CertFile, append(slices.Clone(one), one...)) },
		"no file":          func() { _ = os.Remove(c.Signing.CertFile) },
	} {
		writeAuthority(t, folder, "second")
		if err := k.Refresh(); err != nil {
			t.Fatal(err)
		}
		spoil()
		if err := k.Refresh(); err == nil || !strings.Contains(err.Error(), c.Signing.CertFile) {
			t.Errorf("%s: error %v, want one that names the file", what, err)
		}
		if got := issuer(t, &k, client); got != "second" {
			t.Errorf("%s: signed by %q", what, got)
		}
		if all := k.Keys(); len(all) != 4 || all[0].Rejected == nil || all[0].Until.IsZero() {
			t.Errorf("%s: keys %+v", what, all)
		}
	}

	c.Controllers = []string{"-csrsigning", "*"}
	if err := k.Configure(c); err != nil {
		t.Errorf("without the controller no file is read: %v", err)
	}
	if got := issuer(t, &k, client); !strings.Contains(got, "there is no key") {
		t.Errorf("without the controller: signed by %q", got)
	}
}

// Where a signer has a pair of its own, it alone signs. A configuration whose files can't be used changes nothing.
func TestSingleSigners(t *testing.T) {
	c := config.Default()
	c.Signing.LegacyUnknown = writeAuthority(t, t.TempDir(), "own")
	c.Signing.CertFile = "/nowhere/ca.crt" // without a key it counts as none
	var k Keyring
	if err := k.Configure(c); err != nil {
		t.Fatal(err)
	}
	if got := issuer(t, &k, unknown); got != "own" {
		t.Errorf("signed by %q", got)
	}
	if got := issuer(t, &k, client); !strings.Contains(got, "there is no key") {
		t.Errorf("a signer without files: signed by %q", got)
	}

	bad := *c
	bad.Signing.KubeletClient = config.KeyPair{CertFile: "/nowhere/a.crt", KeyFile: "/nowhere/a.key"}
	if err := k.Configure(&bad); err == nil || !strings.Contains(err.Error(), "/nowhere/a.crt") {
		t.Errorf("error %v, want one that names the file", err)
	}
	if got := issuer(t, &k, unknown); got != "own" {
		t.Errorf("after a configuration that can't be used: signed by %q", got)
	}
}

// Service accounts' tokens are signed with the key of their file, if the controller is turned on.
func TestTokenKey(t *testing.T) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "1"}}
	secret := &corev1.Secret{Type: corev1.SecretTypeServiceAccountToken, ObjectMeta: metav1.ObjectMeta{Namespace: "ns",
		Name: "s", Annotations: map[string]string{corev1.ServiceAccountNameKey: "a"}}}
	var k Keyring
	if _, err := k.Token(account, secret); err == nil {
		t.Error("a token without a key")
	}

	c := config.Default()
	c.Signing.ServiceAccountKeyFile = writeAuthority(t, t.TempDir(), "sa").KeyFile
	if err := k.Configure(c); err != nil {
		t.Fatal(err)
	}
	if got := k.Lacking(); len(got) != 4 || slices.Contains(got, Tokens) {
		t.Errorf("there is no key for %q", got)
	}
	first, err := k.Token(account, secret)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(first, ".") != 2 {
		t.Errorf("token %q", first)
	}
	if all := k.Keys(); len(all) != 1 || all[0].Signs != Tokens || all[0].Files[0] != c.Signing.ServiceAccountKeyFile {
		t.Errorf("keys %+v", all)
	}

	c.Controllers = []string{"-serviceaccount-token", "*"}
	if err := k.Configure(c); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Token(account, secret); err == nil {
		t.Error("a token without the controller")
	}

	c.Controllers, c.Signing.ServiceAccountKeyFile = []string{"*", "-csrsigning"}, ""
	if err := k.Configure(c); err != nil {
		t.Fatal(err)
	}
	if got := k.Lacking(); !slices.Equal(got, []string{Tokens}) {
		t.Errorf("there is no key for %q", got)
	}
}

// Each field of the configuration is followed while the keyring is in use.
func TestEveryFieldIsFollowed(t *testing.T) {
	general, single := writeAuthority(t, t.TempDir(), "general"), writeAuthority(t, t.TempDir(), "single")
	var k Keyring
	for signer, pairOf := range map[string]func(*config.Signing) *config.KeyPair{
		client:  func(s *config.Signing) *config.KeyPair { return &s.KubeAPIServerClient },
		unknown: func(s *config.Signing) *config.KeyPair { return &s.LegacyUnknown },
		certificatesv1.KubeletServingSignerName: func(s *config.Signing) *config.KeyPair {
			return &s.KubeletServing
		},
		certificatesv1.KubeAPIServerClientKubeletSignerName: func(s *config.Signing) *config.KeyPair {
			return &s.KubeletClient
		},
	} {
		for _, c := range []struct {
			set  func(s *config.Signing)
			want config.KeyPair
		}{
			{func(s *config.Signing) { s.KeyPair = general }, general},
			{func(s *config.Signing) { *pairOf(s) = single }, single},
		} {
			x := config.Default()
			c.set(&x.Signing)
			if err := k.Configure(x); err != nil {
				t.Fatal(err)
			}
			if key, ok := keyOf(&k, signer); !ok || !slices.Equal(key.Files, []string{c.want.CertFile, c.want.KeyFile}) {
				t.Errorf("%s: %+v, want the files %+v", signer, key, c.want)
			}
		}
	}

	x := config.Default()
	x.Signing.KeyPair, x.Signing.Duration.Duration = general, 20*time.Minute
	x.Signing.ServiceAccountKeyFile = single.KeyFile
	if err := k.Configure(x); err != nil {
		t.Fatal(err)
	}
	if k.signer().Longest != 20*time.Minute {
		t.Errorf("certificates are good for %v at most", k.signer().Longest)
	}
	if key, ok := keyOf(&k, Tokens); !ok || key.Files[0] != single.KeyFile {
		t.Errorf("tokens: %+v", key)
	}
}

// keyOf returns what is known of a signer's key.
func keyOf(k *Keyring, signer string) (Key, bool) {
	all := k.Keys()
	i := slices.IndexFunc(all, func(x Key) bool { return x.Signs == signer })
	if i < 0 {
		return Key{}, false
	}
	return all[i], true
}
