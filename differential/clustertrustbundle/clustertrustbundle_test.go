package clustertrustbundle

import (
	"context"
	"crypto/sha256"
	"fmt"
	"reflect"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	listers "k8s.io/client-go/listers/certificates/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	upstream "k8s.io/kubernetes/pkg/controller/certificates/clustertrustbundlepublisher"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/clustertrustbundle"
)

// publisher is upstream's controller of version v1.
type publisher = upstream.ClusterTrustBundlePublisher[certificatesv1.ClusterTrustBundle]

type queue = workqueue.TypedRateLimitingInterface[string]

const signer = "kubernetes.io/kube-apiserver-serving"

var bundles = certificatesv1.SchemeGroupVersion.WithResource("clustertrustbundles")

// published is what the controller is to publish, another what it isn't: the API server wants certificates.
const (
	published = "-----BEGIN CERTIFICATE-----\n" +
		"MIIBQDCB86ADAgECAhRelrkVElaz4e04q9VRIvu9RxfNtTAFBgMrZXAwFTETMBEG\n" +
		"A1UEAwwKa3ViZXJuZXRlczAgFw0yNjExMzAxOTEyMDBaGA8yMTI2MTEwNjE5MTIw\n" +
		"MFowFTETMBEGA1UEAwwKa3ViZXJuZXRlczAqMAUGAytlcAMhAJ4EwDtTDCNDP4W3\n" +
		"+pGiXeIbE+DpFK7OB7WIpHIXC+Spo1MwUTAdBgNVHQ4EFgQUSLeu+CDt8vaZx6S5\n" +
		"HGTf+ilN078wHwYDVR0jBBgwFoAUSLeu+CDt8vaZx6S5HGTf+ilN078wDwYDVR0T\n" +
		"AQH/BAUwAwEB/zAFBgMrZXADQQCIcUZyU6+VY2eYdg76nW9Y5UAADjRteDWkMS9o\n" +
		"0quWdW6INZnAGGXNiFb4csqbw9wJp6gXlMG8BVexlFUR/54N\n" +
		"-----END CERTIFICATE-----\n"
	another = "-----BEGIN CERTIFICATE-----\n" +
		"MIIBNjCB6aADAgECAhQyxKDOwqR8bSdRyHqlFTTGkzWx7zAFBgMrZXAwEDEOMAwG\n" +
		"A1UEAwwFb3RoZXIwIBcNMjYxMTMwMTkxNTI3WhgPMjEyNjExMDYxOTE1MjdaMBAx\n" +
		"DjAMBgNVBAMMBW90aGVyMCowBQYDK2VwAyEAD5fFVSj+XzkUXdSJpiJr0rRca2Jk\n" +
		"zZBGwpNc+PsG9lajUzBRMB0GA1UdDgQWBBRuq1VjA/Rsr4O/4t2UFP6M0fVyRTAf\n" +
		"BgNVHSMEGDAWgBRuq1VjA/Rsr4O/4t2UFP6M0fVyRTAPBgNVHRMBAf8EBTADAQH/\n" +
		"MAUGAytlcANBAHhOaY1jAIvQmPmSjg9r2zvbTvAH8Ivf8CUbMOvOc0vfvpGtCmas\n" +
		"rwI08MxQayNWaYZJb2sB3lXvmDLHzNI+JAA=\n" +
		"-----END CERTIFICATE-----\n"
)

func TestAsUpstream(t *testing.T) { differential.Run(t, subject()) }

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject()) }

func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "kube-apiserver-serving-clustertrustbundle-publisher-controller",
		Plugin:     clustertrustbundle.Plugin,
		Settings:   map[string]string{"root-ca-file": published},
		Native:     made,
		World: func(r *world.Rand) (all []runtime.Object) {
			names := map[string]bool{}
			for range r.IntN(5) {
				if b := bundle(r); !names[b.Name] {
					names[b.Name], all = true, append(all, b)
				}
			}
			return all
		},
		Deeds: []differential.Deed{
			differential.Appear(func(r *world.Rand) runtime.Object { return bundle(r) }),
			differential.Appear(func(r *world.Rand) runtime.Object { return bundle(r) }),
			differential.Vary(bundles, "other contents", func(r *world.Rand, b *certificatesv1.ClusterTrustBundle) {
				b.Spec.TrustBundle = contents(r)
			}),
			differential.Vary(bundles, "other metadata", func(r *world.Rand, b *certificatesv1.ClusterTrustBundle) {
				decorate(r, b)
			}),
			differential.Vary(bundles, "the end", func(r *world.Rand, b *certificatesv1.ClusterTrustBundle) { end(r, b) }),
			differential.Delete(bundles),
			differential.Vanish(bundles),
		},
		Faults: []string{"create clustertrustbundles", "update clustertrustbundles", "all delete clustertrustbundles"},
	}
}

// made has upstream's controller see of the cluster what its own informer asks for: the signer's bundles.
func made(e *native.Env) (*native.Made, error) {
	ca, err := dynamiccertificates.NewStaticCAContent("kube-apiserver-serving", []byte(published))
	if err != nil {
		return nil, err
	}
	runner, err := upstream.NewGAClusterTrustBundlePublisher(signer, ca, e.Client)
	if err != nil {
		return nil, err
	}
	p := runner.(*publisher)
	parts := reflect.ValueOf(p).Elem()
	all := e.Informers.Certificates().V1().ClusterTrustBundles()
	set(parts, "ctbLister", signersOwn{all.Lister()})
	set(parts, "ctbInformer", all.Informer())
	set(parts, "ctbListerSynced", cache.InformerSynced(all.Informer().HasSynced))

	add := func() { native.Exposed(parts.FieldByName("queue")).(queue).Add("") }
	_, err = all.Informer().AddEventHandler(cache.FilteringResourceEventHandler{
		FilterFunc: func(o any) bool { return o.(*certificatesv1.ClusterTrustBundle).Spec.SignerName == signer },
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: func(any) { add() }, UpdateFunc: func(any, any) { add() },
			DeleteFunc: func(any) { add() }},
	})
	return &native.Made{Controller: p, Process: func(ctx context.Context) bool {
		return once(ctx, p, parts)
	}}, err
}

// once has the controller run until it has synced the key that its queue has.
func once(ctx context.Context, p *publisher, parts reflect.Value) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q := native.Exposed(parts.FieldByName("queue")).(queue)
	set(parts, "queue", ending{q, cancel})
	defer set(parts, "queue", q)
	p.Run(ctx)
	return true
}

// ending is a queue that ends the controller when it is empty, and to which running adds nothing.
type ending struct {
	queue
	end context.CancelFunc
}

func (q ending) Add(string) {}

func (q ending) Get() (key string, shutdown bool) {
	if key, shutdown = q.queue.Get(); shutdown {
		q.end()
	}
	return key, shutdown
}

func set(parts reflect.Value, field string, v any) {
	f := parts.FieldByName(field)
	reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem().Set(reflect.ValueOf(v))
}

// signersOwn lists what the controller's own informer would have.
type signersOwn struct {
	listers.ClusterTrustBundleLister
}

func (l signersOwn) List(s labels.Selector) (some []*certificatesv1.ClusterTrustBundle, err error) {
	all, err := l.ClusterTrustBundleLister.List(s)
	for _, b := range all {
		if b.Spec.SignerName == signer {
			some = append(some, b)
		}
	}
	return some, err
}

// bundle is one of the signer's, in most cases, or another signer's, or one without any.
func bundle(r *world.Rand) *certificatesv1.ClusterTrustBundle {
	of := world.Of(r, signer, signer, signer, "example.com/a", "")
	name := strings.ReplaceAll(of, "/", ":") + ":"
	switch {
	case of == "":
		name = "plain"
	case of == signer && r.One(2):
		name += fmt.Sprintf("%x", sha256.Sum256([]byte(published)))[:24]
	default:
		name += world.Of(r, "before", "other")
	}
	b := &certificatesv1.ClusterTrustBundle{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: r.UID(), CreationTimestamp: r.Ago(2000)},
		Spec:       certificatesv1.ClusterTrustBundleSpec{SignerName: of, TrustBundle: contents(r)},
	}
	decorate(r, b)
	if r.One(8) {
		end(r, b)
	}
	return b
}

// end has a bundle on its way out: there is no grace period for it, a finalizer keeps it.
func end(r *world.Rand, b *certificatesv1.ClusterTrustBundle) {
	r.End(b)
	b.DeletionGracePeriodSeconds, b.Finalizers = world.Ptr[int64](0), []string{"example.com/stay"}
}

func contents(r *world.Rand) string {
	return world.Of(r, published, published, another, published+another)
}

// decorate gives a bundle metadata that is nothing to the controller.
func decorate(r *world.Rand, b *certificatesv1.ClusterTrustBundle) {
	b.Labels, b.Annotations, b.Finalizers = nil, nil, nil
	if r.One(3) {
		b.Labels = r.Labels("web")
	}
	if r.One(3) {
		b.Annotations = map[string]string{"example.com/note": world.Of(r, "a", "b")}
	}
	if r.One(5) {
		b.Finalizers = []string{"example.com/stay"}
	}
}
