package csrapproving

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"testing"
	_ "unsafe" // for go:linkname

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/controller/certificates"
	upstream "k8s.io/kubernetes/pkg/controller/certificates/approver"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/csrapproving"
)

//go:linkname process k8s.io/kubernetes/pkg/controller/certificates.(*CertificateController).processNextWorkItem
func process(*certificates.CertificateController, context.Context) bool

var requests = certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests")

func TestAsUpstream(t *testing.T) { differential.Run(t, subject()) }

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject()) }

func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "certificatesigningrequest-approving-controller",
		Plugin:     csrapproving.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			c := upstream.NewCSRApprovingController(e.Context, e.Client,
				e.Informers.Certificates().V1().CertificateSigningRequests())
			return &native.Made{Controller: c, Process: func(ctx context.Context) bool { return process(c, ctx) }}, nil
		},
		World: func(r *world.Rand) (all []runtime.Object) {
			for i := range 1 + r.IntN(4) {
				all = append(all, request(r, i))
			}
			return all
		},
		Deeds: []differential.Deed{
			differential.Appear(func(r *world.Rand) runtime.Object { return request(r, r.IntN(8)) }),
			differential.Vary(requests, "what becomes of it", func(r *world.Rand, o *certificatesv1.CertificateSigningRequest) {
				decide(r, o)
			}),
			differential.Vary(requests, "other labels", func(r *world.Rand, o *certificatesv1.CertificateSigningRequest) {
				o.Labels = r.Labels("web")
			}),
			differential.Delete(requests),
			differential.Vanish(requests),
		},
		Faults: []string{"update certificatesigningrequests"},
	}
}

var key = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

// request is one as a kubelet's, or one that differs from it in something; who asks may have it approved or not.
func request(r *world.Rand, i int) *certificatesv1.CertificateSigningRequest {
	o := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("request-%d", i), UID: r.UID(), CreationTimestamp: r.Ago(3000)},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    asked(r),
			SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
			Username:   world.Of(r, "system:node:n1", "system:node:n1", "system:node:n2", "system:bootstrap:abcdef", ""),
			UID:        world.Of(r, "", "uid"),
		},
	}

	if r.One(2) {
		o.Spec.Usages = append(o.Spec.Usages, certificatesv1.UsageKeyEncipherment)
	}
	switch r.IntN(10) {
	case 0:
		o.Spec.Usages = append(o.Spec.Usages, certificatesv1.UsageServerAuth)
	case 1:
		o.Spec.Usages = o.Spec.Usages[1:]
	}
	if r.One(8) {
		o.Spec.SignerName = world.Of(r, "example.com/a", certificatesv1.KubeletServingSignerName)
	}

	for _, group := range []string{"create selfnodeclient", "create nodeclient", "system:nodes"} {
		if r.One(2) {
			o.Spec.Groups = append(o.Spec.Groups, group)
		}
	}
	if r.One(3) {
		o.Spec.Extra = map[string]certificatesv1.ExtraValue{"example.com/rack": {"a", "b"}, "empty": {}}
	}
	if r.One(4) {
		decide(r, o)
	}
	return o
}

// asked is the request that is asked to be signed.
func asked(r *world.Rand) []byte {
	if r.One(20) {
		return world.Of(r, []byte("garbage"), []byte("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"))
	}
	t := &x509.CertificateRequest{Subject: pkix.Name{CommonName: world.Of(r, "system:node:n1", "system:node:n1",
		"system:node:n1", "system:node:", "mike"), Organization: []string{"system:nodes"}}}
	switch r.IntN(20) {
	case 0:
		t.Subject.Organization = world.Of(r, nil, []string{"system:masters"}, []string{"system:nodes", "more"},
			[]string{"system:nodes", "system:nodes"})
	case 1:
		t.DNSNames = []string{"n1"}
	case 2:
		t.EmailAddresses = []string{"n1@example.com"}
	case 3:
		t.IPAddresses = []net.IP{net.IPv4(10, 0, 0, 1)}
	case 4:
		t.URIs = []*url.URL{{Scheme: "spiffe", Host: "example.com"}}
	}
	der, err := x509.CreateCertificateRequest(nil, t, key)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// decide has somebody decide about a request, or not.
func decide(r *world.Rand, o *certificatesv1.CertificateSigningRequest) {
	o.Status = certificatesv1.CertificateSigningRequestStatus{}
	for _, t := range []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved,
		certificatesv1.CertificateDenied, certificatesv1.CertificateFailed} {
		if r.One(4) {
			o.Status.Conditions = append(o.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: t,
				Status: corev1.ConditionTrue, Reason: "Test", LastUpdateTime: r.Ago(100)})
		}
	}
	if r.One(6) {
		o.Status.Certificate = []byte("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n")
	}
}
