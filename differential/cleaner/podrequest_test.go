package cleaner

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"fmt"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	upstream "k8s.io/kubernetes/pkg/controller/certificates/cleaner"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/cleaner"
)

//go:linkname handlePodRequest k8s.io/kubernetes/pkg/controller/certificates/cleaner.PCRCleanerController.handle
func handlePodRequest(upstream.PCRCleanerController, context.Context, *certificatesv1.PodCertificateRequest) error

var podRequests = certificatesv1.SchemeGroupVersion.WithResource("podcertificaterequests")

// Upstream's controller has no keys: it looks at all requests every five minutes. It is compared request by request:
// what it does with one, and when it would begin to do something, if it looked all the time.
func TestPodRequestsAsUpstream(t *testing.T) {
	differential.Run(t, &differential.Subject{
		Controller: "podcertificaterequest-cleaner-controller",
		Plugin:     cleaner.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			all := e.Informers.Certificates().V1().PodCertificateRequests()
			at := func(client kubernetes.Interface, clock clock.PassiveClock) *upstream.PCRCleanerController {
				return upstream.NewPCRCleanerController(client, all, clock, 15*time.Minute, 5*time.Minute)
			}
			c := at(e.Client, clock.RealClock{})
			return polled(all.Informer(), func(ctx context.Context, namespace, name string) (time.Duration, error) {
				o, err := all.Lister().PodCertificateRequests(namespace).Get(name)
				if err != nil {
					return 0, ignore(err)
				}
				client, now := fake.NewClientset(), time.Now()
				wait := wouldAct(time.Hour, func(after time.Duration) bool {
					client.ClearActions()
					_ = handlePodRequest(*at(client, testclock.NewFakePassiveClock(now.Add(after))), ctx, o)
					return len(client.Actions()) > 0
				})
				return wait, handlePodRequest(*c, ctx, o)
			})
		},
		World: func(r *world.Rand) (all []runtime.Object) {
			for i := range 1 + r.IntN(4) {
				all = append(all, podRequest(r, i))
			}
			return all
		},
		Deeds: []differential.Deed{
			differential.Appear(func(r *world.Rand) runtime.Object { return podRequest(r, r.IntN(8)) }),
			differential.Vary(podRequests, "an answer", func(r *world.Rand, p *certificatesv1.PodCertificateRequest) {
				p.Status.Conditions = []metav1.Condition{{Type: certificatesv1.PodCertificateRequestConditionTypeDenied,
					Status: metav1.ConditionTrue, Reason: "Foo", LastTransitionTime: r.Ago(100)}}
			}),
			differential.Vary(podRequests, "no finalizers", func(_ *world.Rand, p *certificatesv1.PodCertificateRequest) {
				if p.DeletionTimestamp == nil {
					p.Finalizers = nil
				}
			}),
			differential.Delete(podRequests),
			differential.Vanish(podRequests),
		},
		Faults: []string{"delete podcertificaterequests"},
		Loosen: withoutRepeated,
	})
}

// stub is a request that proves that who asks has the key.
var stub = func() []byte {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	b, err := x509.CreateCertificateRequest(nil, &x509.CertificateRequest{}, key)
	if err != nil {
		panic(err)
	}
	return b
}()

func podRequest(r *world.Rand, i int) *certificatesv1.PodCertificateRequest {
	p := &certificatesv1.PodCertificateRequest{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("request-%d", i), Namespace: world.Namespace, UID: r.UID(), CreationTimestamp: r.Ago(1800),
		},
		Spec: certificatesv1.PodCertificateRequestSpec{
			SignerName: "foo.com/abc", PodName: "pod", PodUID: "pod-uid", ServiceAccountName: "default",
			ServiceAccountUID: "account-uid", NodeName: "node", NodeUID: "node-uid",
			MaxExpirationSeconds: world.Ptr[int32](86400), StubPKCS10Request: stub,
		},
	}
	if r.One(6) {
		p.CreationTimestamp = metav1.NewTime(r.Ago(0).Add(-15 * time.Minute))
	}
	if r.One(4) {
		p.Finalizers = []string{"example.com/stay"}
	}
	return p
}

// poll is a controller that looks at all objects again and again, as one that has a key for each.
type poll struct {
	queue workqueue.TypedRateLimitingInterface[string]
}

// polled makes a controller of what does one object: look returns after which time it would do something, if it doesn't
// now.
func polled(i cache.SharedIndexInformer, look func(ctx context.Context, namespace, name string) (time.Duration, error),
) (*native.Made, error) {
	p := &poll{}
	add := func(o any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(o); err == nil {
			p.queue.Add(key)
		}
	}
	_, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, o any) { add(o) }})
	return &native.Made{Controller: p, Process: func(ctx context.Context) bool {
		key, _ := p.queue.Get()
		defer p.queue.Done(key)
		namespace, name, err := cache.SplitMetaNamespaceKey(key)
		if err != nil {
			panic(err)
		}
		wait, err := look(ctx, namespace, name)
		switch {
		case err != nil:
			p.queue.AddRateLimited(key)
		case wait > 0:
			p.queue.AddAfter(key, wait)
		}
		return true
	}}, err
}

// wouldAct returns after which time a controller begins to act, 0 if it does at once or not within most.
func wouldAct(most time.Duration, acts func(after time.Duration) bool) time.Duration {
	if acts(0) || !acts(most) {
		return 0
	}
	before, after := time.Duration(0), most
	for after-before > 1 {
		if middle := before + (after-before)/2; acts(middle) {
			after = middle
		} else {
			before = middle
		}
	}
	return after
}

// ignore returns an error unless it is that there is no such object.
func ignore(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
