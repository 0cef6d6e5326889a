package module

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/windlass-dev/windlass/abi"
)

// What there is in a request and in a certificate comes to the guest, and a signature is checked where that is asked
// for.
func TestX509(t *testing.T) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	name := pkix.Name{CommonName: "system:node:n1", Organization: []string{"system:nodes"}, Country: []string{"DE"}}
	spiffe := &url.URL{Scheme: "spiffe", Host: "example.com", Path: "/n1"}
	usage := pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 15}, Critical: true, Value: []byte{3, 2, 5, 160}}
	ips := []net.IP{net.ParseIP("10.0.0.1"), net.ParseIP("fd00::1")}
	request := requestPEM(t, key, &x509.CertificateRequest{Subject: name, DNSNames: []string{"n1"}, IPAddresses: ips,
		EmailAddresses: []string{"n1@example.com"}, URIs: []*url.URL{spiffe}, ExtraExtensions: []pkix.Extension{usage}})

	subject := abi.X509Name{CommonName: "system:node:n1", Organization: []string{"system:nodes"}, Country: []string{"DE"}}
	want := &abi.X509{Subject: subject, DNSNames: []string{"n1"}, EmailAddresses: []string{"n1@example.com"},
		IPAddresses: []string{"10.0.0.1", "fd00::1"}, URIs: []string{"spiffe://example.com/n1"},
		Usages: []string{"digital signature", "key encipherment"}, KeyAlgorithm: "Ed25519"}
	for _, head := range []string{"request", "signed request"} {
		got := readX509(t, head, request)
		if len(got.Extensions) != 2 || got.Extensions[1].ID != "2.5.29.15" || !got.Extensions[1].Critical ||
			!bytes.Equal(got.Extensions[1].Value, usage.Value) {
			t.Errorf("%s: extensions %+v", head, got.Extensions)
		}
		got.Extensions = nil
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s, -want +got:\n%s", head, d)
		}
	}

	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: name, NotBefore: from,
		NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), DNSNames: []string{"n1"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage:        []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		UnknownExtKeyUsage: []asn1.ObjectIdentifier{{1, 2, 3}}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	got := readX509(t, "certificate", append([]byte("what stands before it\n"), text...))
	if len(got.Extensions) == 0 {
		t.Error("a certificate without extensions")
	}
	got.Extensions = nil
	if d := cmp.Diff(&abi.X509{Subject: subject, Issuer: subject, DNSNames: []string{"n1"}, CA: true,
		Usages: []string{"digital signature", "cert sign", "client auth", "1.2.3"}, KeyAlgorithm: "Ed25519",
		NotBefore: from.Unix(), NotAfter: 253402300799}, got); d != "" {
		t.Errorf("certificate, -want +got:\n%s", d)
	}
	if two := readX509(t, "certificate", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: append(bytes.Clone(der), der...)})); two.Subject.CommonName != "system:node:n1" {
		t.Errorf("of two certificates the first is of %s", two.Subject.CommonName)
	}

	curve, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	small := readX509(t, "signed request", requestPEM(t, curve, &x509.CertificateRequest{}))
	if small.KeyAlgorithm != "ECDSA" || small.KeyBits != 384 {
		t.Errorf("a key of %s with %d bits", small.KeyAlgorithm, small.KeyBits)
	}
}

func TestX509Mistakes(t *testing.T) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	good := requestPEM(t, key, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "mike"}})
	block, _ := pem.Decode(good)
	forged := bytes.Clone(block.Bytes)
	forged[len(forged)-1] ^= 1
	forgedText := pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: forged})
	if readX509(t, "request", forgedText).Subject.CommonName != "mike" {
		t.Error("a request isn't read because of its signature")
	}

	for _, x := range []struct {
		name, head string
		body       []byte
		want       string
	}{
		{"another head", "key", good, `x509 of "key": there are "certificate", "request" and "signed request"`},
		{"no PEM", "request", []byte("garbage"), "PEM block type must be CERTIFICATE REQUEST"},
		{"nothing", "certificate", nil, "PEM block type must be CERTIFICATE"},
		{"another type", "certificate", good, "PEM block type must be CERTIFICATE"},
		{"no DER", "request", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: []byte("x")}), "asn1: "},
		{"an empty block", "certificate", []byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"), "block"},
		{"a forged signature", "signed request", forgedText, "verification failure"},
		{"too much", "certificate", bytes.Repeat([]byte("\n"), pemMost+1), "2097153 bytes of PEM, the limit is 2097152"},
		{"a huge key", "signed request", hugeRequest(t), "an RSA key of 300000 bits, the limit is 8192"},
	} {
		got := Helpers["x509"](append([]byte(x.head+"\n"), x.body...))
		if len(got) == 0 || got[0] != 1 || !strings.Contains(string(got[1:]), x.want) {
			t.Errorf("%s: %q, want an error with %q", x.name, got, x.want)
		}
	}
	if huge := readX509(t, "request", hugeRequest(t)); huge.KeyBits != 300000 {
		t.Errorf("a huge key has %d bits", huge.KeyBits)
	}
}

// Whatever a guest gives is answered, and what is read as signed is read unsigned as well.
func FuzzX509_what_is_signed_can_be_read(f *testing.F) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	f.Add([]byte(requestPEM(f, key, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "mike"}, DNSNames: []string{"a"}})))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		signed, read := Helpers["x509"](append([]byte("signed request\n"), text...)), Helpers["x509"](append([]byte("request\n"), text...))
		if signed[0] == 0 && !bytes.Equal(signed, read) {
			t.Errorf("signed %q, unsigned %q", signed, read)
		}
		for _, head := range []string{"certificate\n", "request\n"} {
			got := Helpers["x509"](append([]byte(head), text...))
			var x abi.X509
			if got[0] == 0 {
				if err := abi.DecodeX509(got[1:], &x); err != nil {
					t.Errorf("%s%q: %v", head, text, err)
				}
			}
		}
	})
}

func readX509(t testing.TB, head string, body []byte) *abi.X509 {
	t.Helper()
	got := Helpers["x509"](append([]byte(head+"\n"), body...))
	if got[0] != 0 {
		t.Fatalf("%s: %s", head, got[1:])
	}
	x := &abi.X509{}
	if err := abi.DecodeX509(got[1:], x); err != nil {
		t.Fatal(err)
	}
	return x
}

func requestPEM(t testing.TB, key crypto.Signer, template *x509.CertificateRequest) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// hugeRequest returns a request for a key with which checking a signature would take minutes.
func hugeRequest(t testing.TB) []byte {
	t.Helper()
	n := new(big.Int).Lsh(big.NewInt(1), 300000-1)
	public, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: n.Add(n, big.NewInt(1)), E: 65537})
	if err != nil {
		t.Fatal(err)
	}

	info := struct {
		Version    int
		Subject    asn1.RawValue
		PublicKey  asn1.RawValue
		Attributes []asn1.RawValue `asn1:"tag:0"`
	}{Subject: asn1.RawValue{FullBytes: []byte{0x30, 0}}, PublicKey: asn1.RawValue{FullBytes: public}}
	der, err := asn1.Marshal(struct {
		Info      any
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}{info, pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11},
		Parameters: asn1.NullRawValue}, asn1.BitString{Bytes: make([]byte, 256), BitLength: 2048}})
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}
