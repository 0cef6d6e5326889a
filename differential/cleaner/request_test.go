package cleaner

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	upstream "k8s.io/kubernetes/pkg/controller/certificates/cleaner"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/cleaner"
)

//go:linkname handleRequest k8s.io/kubernetes/pkg/controller/certificates/cleaner.(*CSRCleanerController).handle
func handleRequest(*upstream.CSRCleanerController, context.Context, *certificatesv1.CertificateSigningRequest) error

var requests = certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests")

// Upstream's controller has no keys: it looks at all requests every hour. It is compared request by request, as
// [TestPodRequestsAsUpstream]. It reads the clock by itself, so a request is made older to see when it would act, and
// the end of a certificate, which can't be, is looked at here.
func TestRequestsAsUpstream(t *testing.T) {
	differential.Run(t, &differential.Subject{
		Controller: "certificatesigningrequest-cleaner-controller",
		Plugin:     cleaner.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			all := e.Informers.Certificates().V1().CertificateSigningRequests()
			c := upstream.NewCSRCleanerController(e.Client.CertificatesV1().CertificateSigningRequests(), all)
			return polled(all.Informer(), func(ctx context.Context, _, name string) (time.Duration, error) {
				o, err := all.Lister().Get(name)
				if err != nil {
					return 0, ignore(err)
				}
				client := fake.NewClientset()
				dry := upstream.NewCSRCleanerController(client.CertificatesV1().CertificateSigningRequests(), all)
				end := endOf(o)
				wait := wouldAct(1<<62, func(after time.Duration) bool {
					client.ClearActions()
					_ = handleRequest(dry, ctx, older(o, after))
					return len(client.Actions()) > 0 || !end.IsZero() && time.Now().Add(after).After(end)
				})
				return wait, handleRequest(c, ctx, o)
			})
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
		Faults: []string{"delete certificatesigningrequests"},
		Loosen: withoutRepeated,
	})
}

// endOf returns when an approved request's certificate ends to be good, zero where that doesn't matter.
func endOf(o *certificatesv1.CertificateSigningRequest) (end time.Time) {
	for _, c := range o.Status.Conditions {
		block, _ := pem.Decode(o.Status.Certificate)
		if c.Type != certificatesv1.CertificateApproved || block == nil {
			continue
		}
		if all, err := x509.ParseCertificates(block.Bytes); err == nil && len(all) > 0 {
			end = all[0].NotAfter
		}
	}
	return end
}

// older returns a request as it will be after some time.
func older(o *certificatesv1.CertificateSigningRequest, by time.Duration) *certificatesv1.CertificateSigningRequest {
	o = o.DeepCopy()
	age := func(t *metav1.Time) {
		if !t.IsZero() {
			t.Time = t.Add(-by)
		}
	}
	age(&o.CreationTimestamp)
	for i := range o.Status.Conditions {
		age(&o.Status.Conditions[i].LastUpdateTime)
	}
	return o
}

var (
	authority = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	asked     = func() []byte {
		der, err := x509.CreateCertificateRequest(nil, &x509.CertificateRequest{}, authority)
		if err != nil {
			panic(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	}()
)

func request(r *world.Rand, i int) *certificatesv1.CertificateSigningRequest {
	o := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("request-%d", i), UID: r.UID(), CreationTimestamp: r.Ago(30 * 3600)},
		Spec: certificatesv1.CertificateSigningRequestSpec{Request: asked, SignerName: "example.com/a",
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth}},
	}
	decide(r, o)
	return o
}

// decide has a request be approved, denied, failed or none of these, each some time ago, and issued or not.
func decide(r *world.Rand, o *certificatesv1.CertificateSigningRequest) {
	o.Status = certificatesv1.CertificateSigningRequestStatus{}
	for _, t := range []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved,
		certificatesv1.CertificateDenied, certificatesv1.CertificateFailed, "Example"} {
		if !r.One(3) {
			continue
		}
		c := certificatesv1.CertificateSigningRequestCondition{Type: t, Status: corev1.ConditionTrue, Reason: "Test"}
		switch r.IntN(5) {
		case 0:
		case 1:
			c.LastUpdateTime = r.Ago(30 * 3600)
		case 2:
			c.LastUpdateTime = metav1.NewTime(r.Ago(0).Add(-world.Of(r, time.Hour, 24*time.Hour)))
		default:
			c.LastUpdateTime = r.Ago(2 * 3600)
		}
		o.Status.Conditions = append(o.Status.Conditions, c)
	}

	if !r.One(2) {
		return
	}
	o.Status.Certificate = certificate(r.Ago(4 * 3600).Add(2 * time.Hour))
	if r.One(6) {
		o.Status.Certificate = world.Of(r, []byte("garbage"), certificate(r.Ago(0).Time),
			certificate(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)))
	}
}

// certificate is one that is good until then.
func certificate(until time.Time) []byte {
	t := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: until.Add(-time.Hour), NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, t, t, authority.Public(), authority)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
