// Package signing compares what the host signs with the cluster's keys with what upstream's signers do.
package signing

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	upstream "k8s.io/kubernetes/pkg/apis/certificates"
	"k8s.io/kubernetes/pkg/controller/certificates/authority"

	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/host/signing"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// some takes some of a list, most often one.
func some[T any](r *world.Rand, list ...T) (taken []T) {
	for range []int{0, 1, 1, 1, 1, 2, 3}[r.IntN(7)] {
		taken = append(taken, list[r.IntN(len(list))])
	}
	return taken
}

// request is a random one, not too far from what signers take.
func request(r *world.Rand) *x509.CertificateRequest {
	x := &x509.CertificateRequest{Subject: pkix.Name{
		Organization: some(r, "system:nodes", "system:nodes", "system:nodes", "system:masters", ""),
		CommonName:   []string{"system:node:a", "system:node:", "system:node", "system:masters", ""}[r.IntN(5)],
	}}
	if r.One(2) {
		x.DNSNames = some(r, "a", "b.example.com")
	}
	if r.One(2) {
		x.IPAddresses = some(r, net.IPv4(10, 0, 0, 1), net.IPv6loopback)
	}
	if r.One(5) {
		x.EmailAddresses = some(r, "a@example.com")
	}
	if r.One(5) {
		x.URIs = some(r, &url.URL{Scheme: "spiffe", Host: "a"})
	}
	if r.One(3) {
		x.ExtraExtensions = []pkix.Extension{{Id: []int{1, 2, 3, 4}, Value: []byte("x")}}
	}
	return x
}

var allUsages = []certificatesv1.KeyUsage{"digital signature", "digital signature", "digital signature",
	"client auth", "client auth",
	"server auth", "server auth", "key encipherment", "signing", "content commitment", "key agreement", "data encipherment", "cert sign", "crl sign",
	"encipher only", "decipher only", "any", "code signing", "email protection", "s/mime", "ipsec end system", "ipsec tunnel",
	"ipsec user", "timestamping", "ocsp signing", "microsoft sgc", "netscape sgc", "rule the world"}

func usages(r *world.Rand) (all []certificatesv1.KeyUsage) {
	from := allUsages
	if !r.One(4) {
		from = allUsages[:8]
	}
	for range r.IntN(5) {
		all = append(all, from[r.IntN(len(from))])
	}
	return all
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// What upstream's helpers refuse is refused in the same words, and nothing else is.
func TestRulesAsUpstream(t *testing.T) {
	for seed := range uint64(20_000) {
		r := world.NewRand(seed)
		x, list := request(r), usages(r)
		set := sets.NewString()
		for _, u := range list {
			set.Insert(string(u))
		}
		for signer, want := range map[string]error{
			certificatesv1.KubeletServingSignerName:             upstream.ValidateKubeletServingCSR(x, set),
			certificatesv1.KubeAPIServerClientKubeletSignerName: upstream.ValidateKubeletClientCSR(x, set),
		} {
			got := signing.Check(signer, x, list)
			var refused signing.Refused
			if words(got) != words(want) || got != nil && !errors.As(got, &refused) {
				t.Fatalf("%s, seed %d: %q of %v, upstream: %q", signer, seed, words(got), list, words(want))
			}
		}
	}
}

// What is signed is what upstream's authority signs, but for the number; what that can't sign isn't signed.
func TestSignsAsUpstream(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signed := 0
	for seed := range uint64(1_000) {
		r := world.NewRand(seed)
		der, err := x509.CreateCertificateRequest(rand.Reader, request(r), key)
		if err != nil {
			t.Fatal(err)
		}
		if r.One(10) {
			der[len(der)-2] ^= 1
		}
		left := []time.Duration{-time.Hour, -5 * time.Minute, -time.Minute, 0, time.Second, time.Minute, time.Hour,
			9 * time.Hour,
			10000 * time.Hour}[r.IntN(9)]
		tmpl := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "ca"}, IsCA: true,
			BasicConstraintsValid: true, NotBefore: now.Add(-10000 * time.Hour), NotAfter: now.Add(left),
			KeyUsage: x509.KeyUsageCertSign}
		raw, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		ca, err := x509.ParseCertificate(raw)
		if err != nil {
			t.Fatal(err)
		}

		list, longest := usages(r), []time.Duration{time.Minute, 8 * time.Hour, 8760 * time.Hour}[r.IntN(3)]
		theirs, wantErr := (&authority.CertificateAuthority{Certificate: ca, PrivateKey: key}).Sign(der,
			authority.PermissiveSigningPolicy{
				TTL: longest, Usages: list, Backdate: 5 * time.Minute, Short: 8 * time.Hour, Now: func() time.Time { return now }})

		parsed, err := signing.ParseRequest(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
		if err != nil {
			t.Fatal(err)
		}
		ours, err := (&signing.Authority{Certificate: ca, Key: key}).Sign(parsed, signing.Terms{Usages: list,
			Longest: longest, Now: now})
		if words(err) != words(wantErr) {
			t.Fatalf("seed %d: %v, upstream: %v", seed, err, wantErr)
		}
		if err != nil {
			continue
		}
		signed++
		block, _ := pem.Decode(ours)
		if a, b := saying(t, block.Bytes), saying(t, theirs); a != b {
			t.Fatalf("seed %d: signed %s, upstream %s", seed, a, b)
		}
	}
	if signed < 100 {
		t.Errorf("only %d were signed", signed)
	}
}

// saying is what a certificate says but for its number.
func saying(t *testing.T, der []byte) string {
	t.Helper()
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %x %x %x %v %v %v %v", c.Version, c.RawIssuer, c.RawSubject, c.RawSubjectPublicKeyInfo,
		c.NotBefore,
		c.NotAfter, c.SignatureAlgorithm, c.Extensions)
}
