package serviceaccount

import (
	"context"
	"testing"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	upstream "k8s.io/kubernetes/pkg/controller/serviceaccount"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/serviceaccount"
)

//go:linkname process k8s.io/kubernetes/pkg/controller/serviceaccount.(*ServiceAccountsController).processNextWorkItem
func process(*upstream.ServiceAccountsController, context.Context) bool

var accounts = corev1.SchemeGroupVersion.WithResource("serviceaccounts")

func TestAsUpstream(t *testing.T) { differential.Run(t, subject()) }

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject()) }

func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "serviceaccount-controller",
		Plugin:     serviceaccount.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			f := e.Informers.Core().V1()
			c, err := upstream.NewServiceAccountsController(
				klog.FromContext(e.Context),
				f.ServiceAccounts(),
				f.Namespaces(),
				e.Client,
				upstream.DefaultServiceAccountsControllerOptions(),
			)
			return &native.Made{Controller: c, Process: func(ctx context.Context) bool { return process(c, ctx) }}, err
		},
		World: objects,
		Deeds: append(differential.NamespacesChange(),
			differential.Vary(differential.Namespaces, "the last finalizer", func(_ *world.Rand, ns *corev1.Namespace) {
				if ns.DeletionTimestamp != nil {
					ns.Spec.Finalizers, ns.Finalizers = nil, nil
				}
			}),
			differential.Delete(differential.Namespaces),
			differential.EndNamespace(accounts),
			differential.Appear(func(r *world.Rand) runtime.Object { return account(r, world.Of(r, world.Namespaces...)) }),
			differential.Vary(accounts, "other contents", func(r *world.Rand, a *corev1.ServiceAccount) { contents(r, a) }),
			differential.Vary(accounts, "the end", func(r *world.Rand, a *corev1.ServiceAccount) { r.End(a) }),
			differential.Delete(accounts),
			differential.Vanish(accounts),
			differential.Vanish(accounts),
		),
		Faults: []string{"create serviceaccounts"},
	}
}

// objects are some namespaces, with service accounts of that name, of others, or of none.
func objects(r *world.Rand) []runtime.Object {
	var all []runtime.Object
	for _, n := range world.Namespaces[1:][:r.IntN(len(world.Namespaces))] {
		all = append(all, r.Namespace(n))
		for range r.IntN(3) {
			all = append(all, account(r, n))
		}
	}
	return all
}

func account(r *world.Rand, namespace string) *corev1.ServiceAccount {
	a := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Name:              world.Of(r, "default", "default", "builder"),
		Namespace:         namespace,
		UID:               r.UID(),
		CreationTimestamp: r.Ago(2000),
	}}
	contents(r, a)
	if r.One(5) {
		r.End(a)
	}
	return a
}

func contents(r *world.Rand, a *corev1.ServiceAccount) {
	a.Labels, a.Annotations, a.Secrets = nil, nil, nil
	if r.One(3) {
		a.Labels = r.Labels("web")
	}
	if r.One(3) {
		a.Annotations = map[string]string{"example.com/note": world.Of(r, "a", "b")}
	}
	if r.One(3) {
		a.Secrets = []corev1.ObjectReference{{Name: "token"}}
	}
	a.AutomountServiceAccountToken = world.Maybe(r, r.One(2))
	if r.One(4) {
		a.Finalizers = []string{"example.com/stay"}
	}
}
