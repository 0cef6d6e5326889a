package csrsigning

import (
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/world"
)

const (
	clients  = certificatesv1.KubeAPIServerClientSignerName
	kubelets = certificatesv1.KubeAPIServerClientKubeletSignerName
	servers  = certificatesv1.KubeletServingSignerName
	anyone   = "kubernetes.io/legacy-unknown"
)

// csr is a request as the API server has it, form what is in it.
type (
	csr  = certificatesv1.CertificateSigningRequest
	form = x509.CertificateRequest
)

// crafted is a request that somebody has made with care, by a change of one that its signer signs.
type crafted struct {
	name, signer string
	asks         func(*form)
	is           func(*csr)
	signed       bool
}

func subjectOf(organization []string, name string) func(*form) {
	return func(r *form) { r.Subject = pkix.Name{Organization: organization, CommonName: name} }
}

func withURI(r *form)   { r.URIs = []*url.URL{{Scheme: "spiffe", Host: "a"}} }
func withEmail(r *form) { r.EmailAddresses = []string{"a@b"} }

func toBeAnAuthority(r *form) {
	r.ExtraExtensions = []pkix.Extension{{Id: []int{2, 5, 29, 19}, Critical: true, Value: []byte{0x30, 3, 1, 1, 0xff}}}
}

func uses(all ...certificatesv1.KeyUsage) func(*csr) {
	return func(o *csr) { o.Spec.Usages = all }
}

func conditions(all ...certificatesv1.RequestConditionType) func(*csr) {
	return func(o *csr) {
		o.Status.Conditions = nil
		for _, t := range all {
			o.Status.Conditions = append(o.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: t,
				Status: corev1.ConditionTrue, Reason: "Test"})
		}
	}
}

func text(b string) func(*csr) {
	return func(o *csr) { o.Spec.Request = []byte(b) }
}

// der changes the bytes of a request after it was signed with its key.
func der(change func([]byte) []byte) func(*csr) {
	return func(o *csr) {
		block, _ := pem.Decode(o.Spec.Request)
		block.Bytes = change(slices.Clone(block.Bytes))
		o.Spec.Request = pem.EncodeToMemory(block)
	}
}

// sameLength puts a text of the same length in the place of another, in what was signed.
func sameLength(old, now string) func([]byte) []byte {
	return func(b []byte) []byte { return []byte(strings.Replace(string(b), old, now, 1)) }
}

func seconds(n int32) func(*csr) {
	return func(o *csr) { o.Spec.ExpirationSeconds = &n }
}

const (
	digital = certificatesv1.UsageDigitalSignature
	asUser  = certificatesv1.UsageClientAuth
	server  = certificatesv1.UsageServerAuth
)

// all are the requests, and whether one is signed: nothing that upstream's signers don't sign. A certificate that is
// signed has neither of an authority's rights, nor an extension of the request's (host/signing's TestSign).
var all = []crafted{
	// The subject.
	{name: "masters as a kubelet", signer: kubelets, asks: subjectOf([]string{"system:masters"}, "system:node:a")},
	{name: "nodes and masters", signer: kubelets,
		asks: subjectOf([]string{"system:nodes", "system:masters"}, "system:node:a")},
	{name: "nodes twice", signer: kubelets,
		asks: subjectOf([]string{"system:nodes", "system:nodes"}, "system:node:a")},
	{name: "no organization", signer: kubelets, asks: subjectOf(nil, "system:node:a")},
	{name: "a kubelet by an admin's name", signer: kubelets,
		asks: subjectOf([]string{"system:nodes"}, "kubernetes-admin")},
	{name: "a name behind a space", signer: kubelets, asks: subjectOf([]string{"system:nodes"}, " system:node:a")},
	{name: "a name in capitals", signer: kubelets, asks: subjectOf([]string{"system:nodes"}, "SYSTEM:NODE:a")},
	{name: "an organization with a NUL", signer: kubelets,
		asks: subjectOf([]string{"system:nodes\x00"}, "system:node:a")},
	{name: "masters as a server", signer: servers, asks: subjectOf([]string{"system:masters"}, "system:node:a")},
	{name: "a server by an admin's name", signer: servers, asks: subjectOf([]string{"system:nodes"}, "admin")},
	{name: "a huge name", signer: clients, asks: subjectOf(nil, strings.Repeat("a", 100_000)), signed: true},

	// Alternative names.
	{name: "a kubelet with a DNS name", signer: kubelets,
		asks: func(r *form) { r.DNSNames = []string{"kubernetes"} }},
	{name: "a kubelet with an address", signer: kubelets,
		asks: func(r *form) { r.IPAddresses = []net.IP{net.IPv4(10, 96, 0, 1)} }},
	{name: "a kubelet with an email", signer: kubelets, asks: withEmail},
	{name: "a kubelet with a URI", signer: kubelets, asks: withURI},
	{name: "a server without a name", signer: servers, asks: func(r *form) { r.DNSNames = nil }},
	{name: "a server with an email", signer: servers, asks: withEmail},
	{name: "a server with a URI", signer: servers, asks: withURI},

	// Usages.
	{name: "a client that serves", signer: clients, is: uses(asUser, server)},
	{name: "a client that signs certificates", signer: clients, is: uses(asUser, certificatesv1.UsageCertSign)},
	{name: "a client for anything", signer: clients, is: uses(asUser, certificatesv1.UsageAny)},
	{name: "a client that signs revocations", signer: clients, is: uses(asUser, certificatesv1.UsageCRLSign)},
	{name: "a client that is none", signer: clients, is: uses(digital)},
	{name: "no usages", signer: clients, is: uses()},
	{name: "a kubelet that serves", signer: kubelets, is: uses(digital, asUser, server)},
	{name: "a kubelet that signs certificates", signer: kubelets,
		is: uses(digital, asUser, certificatesv1.UsageCertSign)},
	{name: "a server that is a client", signer: servers, is: uses(digital, server, asUser)},
	{name: "a server that signs code", signer: servers, is: uses(digital, server, certificatesv1.UsageCodeSigning)},
	{name: "a usage that nobody knows", signer: anyone, is: uses("rule the world")},

	// An authority: it is signed, but the certificate isn't one's.
	{name: "an authority", signer: clients, signed: true, asks: toBeAnAuthority},
	{name: "an authority for anyone", signer: anyone, signed: true,
		is: uses(certificatesv1.UsageCertSign), asks: toBeAnAuthority},

	// Who signs: nobody signs for a signer whose authority it doesn't have.
	{name: "somebody else's signer", signer: clients, is: func(o *csr) { o.Spec.SignerName = "example.com/a" }},
	{name: "a signer in capitals", signer: clients, is: func(o *csr) {
		o.Spec.SignerName = "kubernetes.io/Kube-apiserver-client"
	}},
	{name: "a signer and a space", signer: clients, is: func(o *csr) { o.Spec.SignerName += " " }},
	{name: "no signer", signer: clients, is: func(o *csr) { o.Spec.SignerName = "" }},
	{name: "another of the four", signer: clients, is: func(o *csr) { o.Spec.SignerName = kubelets }},

	// What somebody has decided.
	{name: "pending", signer: clients, is: conditions()},
	{name: "denied", signer: clients, is: conditions(certificatesv1.CertificateDenied)},
	{name: "approved and denied", signer: clients,
		is: conditions(certificatesv1.CertificateApproved, certificatesv1.CertificateDenied)},
	{name: "failed", signer: clients,
		is: conditions(certificatesv1.CertificateApproved, certificatesv1.CertificateFailed)},
	{name: "failed without a status", signer: clients, is: func(o *csr) {
		conditions(certificatesv1.CertificateApproved, certificatesv1.CertificateFailed)(o)
		o.Status.Conditions[1].Status = ""
	}},
	{name: "failed alone", signer: clients, is: conditions(certificatesv1.CertificateFailed)},
	{name: "approved in other words", signer: clients, is: conditions("approved")},
	{name: "issued", signer: clients, is: func(o *csr) { o.Status.Certificate = []byte("x") }},

	// Whose key it is.
	{name: "a bad signature", signer: clients, is: der(func(b []byte) []byte { b[len(b)-1] ^= 1; return b })},
	{name: "another subject than was signed", signer: clients, is: der(sameLength("system:node:a", "system:admins"))},
	{name: "another's key", signer: clients, is: der(func(b []byte) []byte {
		other := ed25519.NewKeyFromSeed([]byte(strings.Repeat("o", ed25519.SeedSize))).Public().(ed25519.PublicKey)
		return sameLength(string(key.Public().(ed25519.PublicKey)), string(other))(b)
	})},

	// What isn't a request.
	{name: "garbage", signer: clients, is: text("garbage")},
	{name: "nothing", signer: clients, is: text("")},
	{name: "another block", signer: clients, is: func(o *csr) {
		o.Spec.Request = []byte(strings.ReplaceAll(string(o.Spec.Request), "CERTIFICATE REQUEST", "CERTIFICATE"))
	}},
	{name: "half a request", signer: clients, is: der(func(b []byte) []byte { return b[:len(b)/2] })},
	{name: "an empty block", signer: clients,
		is: text("-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n")},
	{name: "more behind the request", signer: clients, is: der(func(b []byte) []byte { return append(b, 0) })},
	{name: "a second request behind the first", signer: clients, signed: true, is: func(o *csr) {
		o.Spec.Request = append(o.Spec.Request, o.Spec.Request...)
	}},

	// For how long: it is signed for no longer than it may be (host/signing's TestDuration).
	{name: "for ever", signer: clients, is: seconds(1<<31 - 1), signed: true},
	{name: "for less than no time", signer: clients, is: seconds(-1), signed: true},
}

// object is the request, signed with its key.
func (x *crafted) object(t testing.TB) *csr {
	t.Helper()
	r := &form{Subject: pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:a"}}
	main := asUser
	if x.signer == servers {
		r.DNSNames, main = []string{"a"}, server
	}
	if x.asks != nil {
		x.asks(r)
	}
	b, err := x509.CreateCertificateRequest(nil, r, key)
	if err != nil {
		t.Fatalf("%s: %v", x.name, err)
	}
	o := &csr{ObjectMeta: metav1.ObjectMeta{Name: "crafted", UID: "crafted"},
		Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: x.signer, Username: "mallory",
			Usages: []certificatesv1.KeyUsage{digital, main}, Request: pem.EncodeToMemory(&pem.Block{
				Type: "CERTIFICATE REQUEST", Bytes: b})}}
	conditions(certificatesv1.CertificateApproved)(o)
	if x.is != nil {
		x.is(o)
	}
	return o
}

// Of requests that are crafted none is signed that upstream's signers don't sign, and each fails as it does there. What
// the API server doesn't admit neither of them sees: TestCrafted has it.
func TestCraftedAsUpstream(t *testing.T) {
	for i := range all {
		x := &all[i]
		t.Run(x.name, func(t *testing.T) {
			s := subject(t, x.signer)
			s.World = func(r *world.Rand) []runtime.Object { return []runtime.Object{x.object(t)} }
			s.Deeds, s.Faults, s.Share = []differential.Deed{differential.Vary(requests, "other labels",
				func(r *world.Rand, o *csr) { o.Labels = r.Labels("web") })}, nil, 1000
			differential.Run(t, s)
		})
	}
}

// What is signed, and what isn't.
func TestCrafted(t *testing.T) {
	unsigned := 0
	for i := range all {
		x := &all[i]
		_, keys := authorityOf(t, x.signer)
		certificate, err := keys.Certificate(x.object(t), time.Now())
		if signed := err == nil && len(certificate) > 0; signed != x.signed {
			t.Errorf("%s: signed: %v, want %v (%v)", x.name, signed, x.signed, err)
		}
		if !x.signed {
			unsigned++
		}
	}
	if unsigned < 40 {
		t.Errorf("%d crafted requests that aren't to be signed", unsigned)
	}
}
