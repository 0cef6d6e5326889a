package rootca

import (
	"context"
	"testing"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/rootca"
)

//go:linkname process k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher.(*Publisher).processNextWorkItem
func process(*upstream.Publisher, context.Context) bool

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

const bundle = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

func TestAsUpstream(t *testing.T) { differential.Run(t, subject(bundle)) }

// Without a file, and without one in the kubeconfig, upstream publishes an empty bundle.
func TestAsUpstreamWithoutBundle(t *testing.T) { differential.Run(t, subject("")) }

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject(bundle)) }

func subject(bundle string) *differential.Subject {
	return &differential.Subject{
		Controller: "root-ca-certificate-publisher-controller",
		Plugin:     rootca.Plugin,
		Settings:   map[string]string{"root-ca-file": bundle},
		Native: func(e *native.Env) (*native.Made, error) {
			f := e.Informers.Core().V1()
			c, err := upstream.NewPublisher(f.ConfigMaps(), f.Namespaces(), e.Client, []byte(bundle))
			return &native.Made{Controller: c, Process: func(ctx context.Context) bool { return process(c, ctx) }}, err
		},
		World: func(r *world.Rand) []runtime.Object { return objects(r, bundle) },
		Deeds: append(differential.NamespacesChange(),
			differential.Delete(differential.Namespaces),
			differential.EndNamespace(configMaps),
			differential.EndNamespace(configMaps),
			differential.Appear(func(r *world.Rand) runtime.Object {
				return configMap(r, world.Of(r, world.Namespaces...),
					bundle)
			}),
			differential.Vary(configMaps, "other contents", func(r *world.Rand, m *corev1.ConfigMap) { contents(r, m, bundle) }),
			differential.Vary(configMaps, "other contents", func(r *world.Rand, m *corev1.ConfigMap) { contents(r, m, bundle) }),
			differential.Vary(configMaps, "the end", func(r *world.Rand, m *corev1.ConfigMap) { r.End(m) }),
			differential.Delete(configMaps),
			differential.Vanish(configMaps),
			differential.Vanish(configMaps),
		),
		Faults: []string{"create configmaps", "update configmaps"},
	}
}

// objects are some namespaces, with config maps of that name in any state, of others, or of none.
func objects(r *world.Rand, bundle string) []runtime.Object {
	var all []runtime.Object
	for _, n := range world.Namespaces[:1+r.IntN(len(world.Namespaces))] {
		if n != world.Namespace {
			all = append(all, r.Namespace(n))
		}
		for range r.IntN(3) {
			all = append(all, configMap(r, n, bundle))
		}
	}
	return all
}

func configMap(r *world.Rand, namespace, bundle string) *corev1.ConfigMap {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: world.Of(
			r,
			upstream.RootCACertConfigMapName,
			upstream.RootCACertConfigMapName,
			upstream.RootCACertConfigMapName,
			"settings",
		),
		Namespace:         namespace,
		UID:               r.UID(),
		CreationTimestamp: r.Ago(2000),
	}}
	contents(r, m, bundle)
	if r.One(6) {
		m.Immutable = world.Ptr(r.One(2))
	}
	if r.One(6) {
		r.End(m)
	}
	return m
}

// contents are what the controller would have it be, in most cases, or nearly that.
func contents(r *world.Rand, m *corev1.ConfigMap, bundle string) {
	m.Labels, m.Annotations, m.Finalizers, m.BinaryData = nil, nil, nil, nil
	m.Data = map[string]string{"ca.crt": bundle}
	switch r.IntN(8) {
	case 0:
		m.Data = nil
	case 1:
		m.Data["ca.crt"] = world.Of(r, "another", "")
	case 2:
		m.Data["more"] = "x"
	case 3:
		m.Data = map[string]string{"other.crt": bundle}
	}

	if !r.One(4) {
		m.Annotations = map[string]string{upstream.DescriptionAnnotation: world.Of(r, upstream.Description, "mine", "")}
	}
	if r.One(4) {
		if m.Annotations == nil {
			m.Annotations = map[string]string{}
		}
		m.Annotations["example.com/note"] = world.Of(r, "a", "b")
	}

	if r.One(4) {
		m.Labels = r.Labels("web")
	}
	if r.One(5) {
		m.BinaryData = map[string][]byte{world.Of(r, "ca.crt", "other.bin"): {0, 1, 2}}
	}

	if r.One(5) {
		m.Finalizers = []string{"example.com/stay"}
	}
	if r.One(6) {
		m.OwnerReferences = []metav1.OwnerReference{world.Owner("v1", "ConfigMap", "settings", r.UID())}
	}
}
