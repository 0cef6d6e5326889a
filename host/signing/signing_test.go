package signing

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const (
	serving = certificatesv1.KubeletServingSignerName
	kubelet = certificatesv1.KubeAPIServerClientKubeletSignerName
	client  = certificatesv1.KubeAPIServerClientSignerName
	legacy  = "kubernetes.io/legacy-unknown"
)

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// newAuthority returns an authority that is good until a time.
func newAuthority(t testing.TB, until time.Time) *Authority {
	t.Helper()
	key := newKey(t)
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"},
		NotBefore: now.Add(-365 * 24 * time.Hour), NotAfter: until, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &Authority{Certificate: c, Key: key}
}

// newRequest returns a signed request, in PEM.
func newRequest(t testing.TB, r x509.CertificateRequest) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &r, newKey(t))
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// node is the subject of a kubelet's certificate.
var node = pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:a"}

// Each signer signs what is its own, and says of anything else which rule it breaks.
func TestRules(t *testing.T) {
	u := func(list ...certificatesv1.KeyUsage) []certificatesv1.KeyUsage { return list }
	const (
		signs  = certificatesv1.UsageDigitalSignature
		server = certificatesv1.UsageServerAuth
		asUser = certificatesv1.UsageClientAuth
		cipher = certificatesv1.UsageKeyEncipherment
	)
	names, addresses := []string{"a"}, []net.IP{net.IPv4(10, 0, 0, 1)}
	uris := []*url.URL{{Scheme: "spiffe", Host: "a"}}
	subject := func(org []string, name string) pkix.Name { return pkix.Name{Organization: org, CommonName: name} }
	nodes := []string{"system:nodes"}

	for _, x := range []struct {
		name, signer string
		request      x509.CertificateRequest
		usages       []certificatesv1.KeyUsage
		want         string
	}{
		{"a kubelet's server", serving, x509.CertificateRequest{Subject: node, DNSNames: names}, u(signs, server), ""},
		{"with RSA", serving, x509.CertificateRequest{Subject: node, IPAddresses: addresses}, u(server, cipher, signs), ""},
		{"the same usage twice", serving, x509.CertificateRequest{Subject: node, DNSNames: names}, u(server, signs, server), ""},
		{"no organization", serving, x509.CertificateRequest{Subject: subject(nil, "system:node:a"),
			DNSNames: names}, u(signs, server),
			"subject organization is not system:nodes"},
		{"masters", serving, x509.CertificateRequest{Subject: subject([]string{"system:masters"}, "system:node:a"),
			DNSNames: names},
			u(signs, server), "subject organization is not system:nodes"},
		{"nodes and masters", serving, x509.CertificateRequest{Subject: subject([]string{"system:nodes", "system:masters"}, "system:node:a"),
			DNSNames: names}, u(signs, server), "subject organization is not system:nodes"},
		{"neither a name nor an address", serving, x509.CertificateRequest{Subject: node}, u(signs, server),
			"DNS or IP subjectAltName is required"},
		{"an email", serving, x509.CertificateRequest{Subject: node, DNSNames: names,
			EmailAddresses: []string{"a@b"}}, u(signs, server),
			"Email subjectAltNames are not allowed"},
		{"a URI", serving, x509.CertificateRequest{Subject: node, DNSNames: names, URIs: uris}, u(signs, server),
			"URI subjectAltNames are not allowed"},
		{"a client's use", serving, x509.CertificateRequest{Subject: node, DNSNames: names}, u(signs, server, asUser),
			"usages did not match [digital signature key encipherment server auth]"},
		{"without signing", serving, x509.CertificateRequest{Subject: node, DNSNames: names}, u(server),
			"usages did not match [digital signature key encipherment server auth]"},
		{"no usages", serving, x509.CertificateRequest{Subject: node, DNSNames: names}, nil,
			"usages did not match [digital signature key encipherment server auth]"},
		{"somebody's name", serving, x509.CertificateRequest{Subject: subject(nodes, "admin"), DNSNames: names},
			u(signs, server),
			"subject common name does not begin with system:node:"},

		{"a kubelet", kubelet, x509.CertificateRequest{Subject: node}, u(signs, asUser), ""},
		{"a kubelet with RSA", kubelet, x509.CertificateRequest{Subject: node}, u(signs, cipher, asUser), ""},
		{"a kubelet's DNS name", kubelet, x509.CertificateRequest{Subject: node, DNSNames: names}, u(signs, asUser),
			"DNS subjectAltNames are not allowed"},
		{"a kubelet's email", kubelet, x509.CertificateRequest{Subject: node, EmailAddresses: []string{"a@b"}},
			u(signs, asUser),
			"Email subjectAltNames are not allowed"},
		{"a kubelet's address", kubelet, x509.CertificateRequest{Subject: node, IPAddresses: addresses}, u(signs, asUser),
			"IP subjectAltNames are not allowed"},
		{"a kubelet's URI", kubelet, x509.CertificateRequest{Subject: node, URIs: uris}, u(signs, asUser),
			"URI subjectAltNames are not allowed"},
		{"a kubelet's other organization", kubelet, x509.CertificateRequest{Subject: subject([]string{"nodes"}, "system:node:a")},
			u(signs, asUser), "subject organization is not system:nodes"},
		{"an admin among nodes", kubelet, x509.CertificateRequest{Subject: subject(nodes, "kubernetes-admin")},
			u(signs, asUser),
			"subject common name does not begin with system:node:"},
		{"a server's use", kubelet, x509.CertificateRequest{Subject: node}, u(signs, server),
			"usages did not match [client auth digital signature key encipherment]"},
		{"an authority's use", kubelet, x509.CertificateRequest{Subject: node}, u(signs, asUser,
			certificatesv1.UsageCertSign),
			"usages did not match [client auth digital signature key encipherment]"},

		{"a client", client, x509.CertificateRequest{Subject: subject([]string{"team"}, "jo")}, u(asUser), ""},
		{"a client with names", client, x509.CertificateRequest{Subject: subject(nil, "jo"), DNSNames: names},
			u(asUser, signs, cipher), ""},
		{"a client that serves", client, x509.CertificateRequest{}, u(asUser, server), "invalid usage for client certificate: server auth"},
		{"a client for anything", client, x509.CertificateRequest{}, u(certificatesv1.UsageAny, asUser),
			"invalid usage for client certificate: any"},
		{"a client that signs certificates", client, x509.CertificateRequest{}, u(asUser, certificatesv1.UsageCertSign),
			"invalid usage for client certificate: cert sign"},
		{"no client", client, x509.CertificateRequest{}, u(signs), "missing required usage for client certificate: client auth"},
		{"nothing at all", client, x509.CertificateRequest{}, nil, "missing required usage for client certificate: client auth"},

		{"anything", legacy, x509.CertificateRequest{URIs: uris}, u(certificatesv1.UsageOCSPSigning), ""},
	} {
		r, err := ParseRequest(newRequest(t, x.request))
		if err != nil {
			t.Fatal(x.name, err)
		}
		got := ""
		if err := Check(x.signer, r, x.usages); err != nil {
			var refused Refused
			if got = err.Error(); !errors.As(err, &refused) {
				t.Errorf("%s: %v is no refusal", x.name, err)
			}
		}
		if got != x.want {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}

	var refused Refused
	if err := Check("example.com/mine", &x509.CertificateRequest{}, nil); err == nil || errors.As(err, &refused) {
		t.Errorf("another one's signer: %v", err)
	}
	if slices.Contains(Signers(), "example.com/mine") || len(Signers()) != 4 {
		t.Error("signers:", Signers())
	}
}

// A certificate has what the request says of its holder and nothing that makes it an authority.
func TestSign(t *testing.T) {
	a := newAuthority(t, now.Add(10*365*24*time.Hour))
	wish, err := asn1.Marshal(struct {
		CA bool `asn1:"optional"`
	}{true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := ParseRequest(newRequest(t, x509.CertificateRequest{Subject: node, DNSNames: []string{"a"},
		ExtraExtensions: []pkix.Extension{
			{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Critical: true, Value: wish}, // to be an authority
			{Id: asn1.ObjectIdentifier{1, 2, 3, 4}, Value: []byte("mine")},
		}}))
	if err != nil {
		t.Fatal(err)
	}

	var serials []string
	for range 2 {
		text, err := a.Sign(r, Terms{Usages: []certificatesv1.KeyUsage{certificatesv1.UsageCertSign,
			certificatesv1.UsageServerAuth},
			Longest: 365 * 24 * time.Hour, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		c := parse(t, text)
		if err := c.CheckSignatureFrom(a.Certificate); err != nil {
			t.Error(err)
		}
		if c.IsCA || !c.BasicConstraintsValid || c.MaxPathLen > 0 {
			t.Error("the certificate is an authority's")
		}
		if c.Subject.String() != r.Subject.String() || !slices.Equal(c.DNSNames, []string{"a"}) {
			t.Error("it is another one's:", c.Subject, c.DNSNames)
		}
		for _, e := range c.Extensions {
			if e.Id.Equal(asn1.ObjectIdentifier{1, 2, 3, 4}) {
				t.Error("an extension of the request's is kept")
			}
		}
		if c.NotBefore != now.Add(-5*time.Minute) || c.NotAfter != now.Add(365*24*time.Hour-5*time.Minute) {
			t.Error("good from", c.NotBefore, "to", c.NotAfter)
		}
		serials = append(serials, c.SerialNumber.String())
	}
	if serials[0] == serials[1] {
		t.Error("two certificates with one number:", serials)
	}
}

func parse(t testing.TB, text []byte) *x509.Certificate {
	t.Helper()
	block, rest := pem.Decode(text)
	if block == nil || len(rest) > 0 {
		t.Fatalf("%q is not one block", text)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A certificate is good for as long as it may be, and never longer than its authority.
func TestDuration(t *testing.T) {
	seconds := func(n int32) *int32 { return &n }
	for _, x := range []struct {
		longest time.Duration
		asked   *int32
		left    time.Duration // of the authority
		want    time.Duration // from now
	}{
		{24 * time.Hour, nil, 100 * time.Hour, 24*time.Hour - 5*time.Minute},
		{24 * time.Hour, seconds(3600), 100 * time.Hour, time.Hour},
		{24 * time.Hour, seconds(8 * 3600), 100 * time.Hour, 8*time.Hour - 5*time.Minute},
		{24 * time.Hour, seconds(8*3600 - 1), 100 * time.Hour, 8*time.Hour - time.Second},
		{24 * time.Hour, seconds(60), 100 * time.Hour, 10 * time.Minute},
		{24 * time.Hour, seconds(-60), 100 * time.Hour, 10 * time.Minute},
		{24 * time.Hour, seconds(1 << 30), 100 * time.Hour, 24*time.Hour - 5*time.Minute},
		{time.Minute, nil, 100 * time.Hour, time.Minute},
		{time.Minute, seconds(3600), 100 * time.Hour, time.Minute},
		{24 * time.Hour, nil, time.Hour, time.Hour},
		{24 * time.Hour, nil, time.Second, time.Second},
	} {
		a := newAuthority(t, now.Add(x.left))
		r, err := ParseRequest(newRequest(t, x509.CertificateRequest{Subject: node}))
		if err != nil {
			t.Fatal(err)
		}

		text, err := a.Sign(r, Terms{Longest: x.longest, ExpirationSeconds: x.asked, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		if got := parse(t, text).NotAfter.Sub(now); got != x.want {
			t.Errorf("%v: good for %v, want %v", x, got, x.want)
		}
	}
}

// What can't be signed is an error that says why.
func TestUnsigned(t *testing.T) {
	good := newRequest(t, x509.CertificateRequest{Subject: node})
	block, _ := pem.Decode(good)
	broken := slices.Clone(block.Bytes)
	broken[len(broken)-3] ^= 1 // in the signature
	_, other, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	fresh := newAuthority(t, now.Add(time.Hour))
	for _, x := range []struct {
		name string
		pem  []byte
		by   *Authority
		use  []certificatesv1.KeyUsage
		want string
	}{
		{"no PEM", []byte("x"), fresh, nil, "PEM block type must be CERTIFICATE REQUEST"},
		{"a certificate", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: fresh.Certificate.Raw}), fresh, nil,
			"PEM block type must be CERTIFICATE REQUEST"},
		{"an empty block", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST"}), fresh, nil, "asn1"},
		{"half a block", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: block.Bytes[:40]}), fresh, nil, "asn1"},
		{"another one's signature", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: broken}), fresh, nil,
			"unable to verify certificate request signature"},
		{"unknown usages", good, fresh, []certificatesv1.KeyUsage{"rule the world", certificatesv1.UsageAny, "x"},
			`unrecognized usage values: ["rule the world" "x"]`},
		{"an authority that ends now", good, newAuthority(t, now), nil, "refusing to sign a certificate that expired in the past"},
		{"an authority that has ended", good, newAuthority(t, now.Add(-5*time.Minute)), nil, "the signer has expired: NotAfter="},
		{"a key that isn't the authority's", good, &Authority{Certificate: fresh.Certificate, Key: other}, nil, "failed to sign certificate"},
	} {
		r, err := ParseRequest(x.pem)
		if err == nil {
			_, err = x.by.Sign(r, Terms{Usages: x.use, Longest: time.Hour, Now: now})
		}
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.name, err, x.want)
		}
	}
}

// An authority is read from the files of one certificate and its own key.
func TestParseAuthority(t *testing.T) {
	a, b := newAuthority(t, now.Add(time.Hour)), newAuthority(t, now.Add(time.Hour))
	certificate := func(a *Authority) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate.Raw})
	}
	key := func(a *Authority) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(a.Key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	}

	got, err := ParseAuthority([][]byte{certificate(a), key(a)})
	if err != nil || !got.Certificate.Equal(a.Certificate) || !a.Key.Public().(*ecdsa.PublicKey).Equal(got.Key.Public()) {
		t.Errorf("read %v: %v", got, err)
	}
	for _, x := range []struct {
		name     string
		contents [][]byte
		want     string
	}{
		{"no certificate", [][]byte{nil, key(a)}, "the certificate: "},
		{"no key", [][]byte{certificate(a), nil}, "failed to find any PEM data in key input"},
		{"another one's key", [][]byte{certificate(a), key(b)}, "private key does not match public key"},
		{"two certificates", [][]byte{slices.Concat(certificate(a), certificate(b)), key(a)}, "expected 1 certificate, found 2"},
		{"one file", [][]byte{certificate(a)}, "1 files"},
	} {
		if _, err := ParseAuthority(x.contents); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.name, err, x.want)
		}
	}
}
