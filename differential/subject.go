// Package differential runs upstream's own controllers beside the plugins that take their places, on random worlds, and
// compares what they do.
//
// Both see the same caches and write to equal clusters in memory (package api), which default, validate and admit as a
// kube-apiserver does, for they are made of its registry. A world goes on in steps: somebody does something, both
// controllers are shown it, and which keys it wakes is compared; then each key is synced by both, and what they have
// written, told, failed with and asked to be woken for is compared. The next step begins with what upstream's
// controller has left, for both. Time is that of a bubble (testing/synctest): it stands still during a sync, for both
// alike.
//
// Where caches are late, upstream's controllers have expectations where the plugins have barriers, so that single syncs
// aren't comparable: then each works on a cluster of its own until it rests, and what is there is compared, and which
// writes led there (see rest.go; apart.go has those controllers that have no keys to sync).
//
// What a world holds depends on its seed alone. A world in which the two differ is played again: a difference that
// isn't found again is upstream's own chance, such as the order of a map; few may be. A difference is made smaller by
// leaving out objects and steps while it stays, and printed as a golden case.
package differential

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/sdk"
)

// Subject is one controller to compare.
type Subject struct {
	// Controller is its name.
	Controller string
	// Plugin is the plugin that it is in, Settings what is set of that.
	Plugin   *sdk.Plugin
	Settings map[string]string
	// Native makes upstream's.
	Native func(*native.Env) (*native.Made, error)
	// Signer signs for the plugin, with the keys that upstream's controller has; nil: it has nothing signed.
	Signer effects.Signer
	// World returns the objects that there are at the beginning, beside [world.Basics].
	World func(*world.Rand) []runtime.Object
	// Aggregated are other API servers behind the cluster's; nil: there are none.
	Aggregated func(*world.Rand) *api.Aggregated
	// Share is the share of worlds that are tried, one of so many, for what is compared in several ways; by default all
	// are.
	Share uint64
	// Steps is how many things happen in a world after its beginning, by default four.
	Steps int
	// Deeds are what others may do as the world goes on. One returns what it did, or nothing if there was nothing to
	// do.
	Deeds []Deed
	// Faults are the writes that may fail, such as "create pods"; where upstream's controller stops at the first of
	// several in an order by chance, "all create pods". In a share of the worlds one is refused for ever, for some
	// objects.
	Faults []string
	// Told says what an object is told apart from others by, of which some are refused for ever in a share of the worlds,
	// where it isn't its name: such as the node of a DaemonSet's pod. Nil, or "": by its name. With one, the two are
	// compared at rest there: upstream's controller may stop at the first that is refused, in an order by chance.
	Told func(runtime.Object) string
	// Apart has each controller work on a cluster of its own, with late caches, and only ends be compared: for
	// controllers whose syncs aren't of one key each.
	Apart bool
	// Prompt has the caches never be late there.
	Prompt bool
	// Lasts says how long a step lasts there, whatever is left to do; both work side by side. Nil: until nothing is.
	Lasts func(*world.Rand) time.Duration
	// Key translates a key of upstream's to the plugin's; nil: they are the same.
	Key func(string) string
	// Alike returns the same text for objects that upstream's controller takes for one another at random; none: there
	// is no such object.
	Alike func(runtime.Object) string
	// Shape takes out of an object what isn't to be compared where ends are; nil: there is no such thing.
	Shape func(runtime.Object)
	// Sum says what the objects of the resource SumOf come to where ends are compared: which of them says what is
	// chance with upstream's controller; nil: each is compared.
	Sum   func(*api.Cluster) ([]string, error)
	SumOf schema.GroupVersionResource
	// Explain returns what is worth knowing of a difference, such as how the objects that it is about hang
	// together, from all objects before; nil: nothing is.
	Explain func(objects []runtime.Object, difference string) string
	// Aside says what a write is for, where upstream's controller does it beside what it does for others, in an order
	// by chance; "": it is not done beside others. Nil: nothing is.
	Aside func(*api.Cluster, *api.Request) string
	// Unmeasured are those metrics of the plugin's that aren't compared, by their names, with the reason. All others
	// are after each step: what is added to counters and histograms, and what gauges are. Upstream's are the process's:
	// Native has to set back gauges with labels.
	Unmeasured map[string]string
	// Loosen takes out of a sync's writes those whose details upstream's controller picks at random, and returns the
	// others, with lines for what of those taken is to be compared. The clusters are as the sync found and left them.
	// Nil: there are none.
	Loosen func(key string, before, after *api.Cluster, writes []*api.Request) (rest []*api.Request, lines []string,
		err error)

	// AtRest has the two be compared when neither has anything left to do (see rest.go). Then upstream's meets no
	// conflict with itself where it writes an object twice in one sync from the version that it has seen: that only
	// decides in which sync the second is written. Renames returns what stands for the parts of a created object that
	// the two make otherwise by rule, such as a hash in its name, and Events rewrites the events of a step, where several
	// syncs tell in several what one tells at once; each may be nil.
	AtRest  bool
	Renames func(created runtime.Object) map[string]string
	Events  func([]string) []string

	// Untold reports whether an event isn't compared, because one of the two tells it in syncs and the other where it is
	// shown a change; nil: all are.
	Untold func(event string) bool

	// Gates are upstream's feature gates that are also tried the other way round, each by itself, as the plugin's
	// setting of that name. One that is locked is unlocked by emulating the oldest version that can be.
	Gates []string

	late   bool    // caches are
	hosted bool    // the host takes part
	known  *knowns // the rules of known.yaml about it
}

// Deed is something that others do to the cluster.
type Deed func(*world.Rand, *api.Cluster) (what string, err error)

// Do runs one of upstream's controllers, whose queue has one key in it; it is what a Subject's Native returns as
// Process.
type Do = func(context.Context) bool

var (
	coreV1 = schema.GroupVersion{Version: "v1"}
	// Pods and the others are the resources that deeds are about.
	Pods       = coreV1.WithResource("pods")
	Namespaces = coreV1.WithResource("namespaces")
)

// pick returns one of a resource's objects, nil if there are none.
func pick(r *world.Rand, c *api.Cluster, gvr schema.GroupVersionResource) (runtime.Object, metav1.Object, error) {
	all, err := c.List(gvr)
	if err != nil || len(all) == 0 {
		return nil, nil, err
	}
	o := all[r.IntN(len(all))]
	return o, o.(metav1.Object), nil
}

// Vary changes one object of a resource, as f does.
func Vary[T runtime.Object](gvr schema.GroupVersionResource, what string, f func(*world.Rand, T)) Deed {
	return func(r *world.Rand, c *api.Cluster) (string, error) {
		_, m, err := pick(r, c, gvr)
		if m == nil || err != nil {
			return "", err
		}
		err = c.Change(gvr, m.GetNamespace(), m.GetName(), func(o runtime.Object) { f(r, o.(T)) })
		return fmt.Sprintf("%s of %s %s", what, gvr.Resource, m.GetName()), err
	}
}

// Delete has somebody delete one object of a resource.
func Delete(gvr schema.GroupVersionResource) Deed {
	return func(r *world.Rand, c *api.Cluster) (string, error) {
		_, m, err := pick(r, c, gvr)
		if m == nil || err != nil {
			return "", err
		}
		o := metav1.DeleteOptions{}
		if r.One(3) {
			o.PropagationPolicy = world.Ptr(world.Of(r, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan))
		}
		return fmt.Sprintf("delete %s %s", gvr.Resource, m.GetName()), c.Delete(gvr, m.GetNamespace(), m.GetName(), &o)
	}
}

// Vanish has one object of a resource be gone at once.
func Vanish(gvr schema.GroupVersionResource) Deed {
	return func(r *world.Rand, c *api.Cluster) (string, error) {
		_, m, err := pick(r, c, gvr)
		if m == nil || err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %s is gone", gvr.Resource, m.GetName()), c.Remove(gvr, m.GetNamespace(), m.GetName())
	}
}

// NamespacesChange are what others do to namespaces until one goes.
func NamespacesChange() []Deed {
	return []Deed{
		Appear(func(r *world.Rand) runtime.Object { return r.Namespace(world.Of(r, world.Namespaces...)) }),
		Vary(Namespaces, "other labels", func(r *world.Rand, ns *corev1.Namespace) { ns.Labels = r.Labels("web") }),
		Vary(Namespaces, "the end", func(r *world.Rand, ns *corev1.Namespace) { r.Terminate(ns) }),
	}
}

// EndNamespace has a namespace that is being deleted be gone, and before it all that is in it of some resources.
func EndNamespace(content ...schema.GroupVersionResource) Deed {
	return func(r *world.Rand, c *api.Cluster) (string, error) {
		_, ns, err := pick(r, c, Namespaces)
		if ns == nil || err != nil || ns.GetDeletionTimestamp() == nil {
			return "", err
		}
		for _, gvr := range content {
			all, err := c.List(gvr)
			if err != nil {
				return "", err
			}
			for _, o := range all {
				if m := o.(metav1.Object); m.GetNamespace() == ns.GetName() {
					if err := c.Remove(gvr, m.GetNamespace(), m.GetName()); err != nil {
						return "", err
					}
				}
			}
		}
		return fmt.Sprintf("namespace %s is gone", ns.GetName()), c.Remove(Namespaces, "", ns.GetName())
	}
}

// Appear adds an object.
func Appear(f func(*world.Rand) runtime.Object) Deed {
	return func(r *world.Rand, c *api.Cluster) (string, error) {
		o := f(r)
		m := o.(metav1.Object)
		if err := c.Add(o); err != nil {
			return "", nil // it isn't admitted, or there is one
		}
		return fmt.Sprintf("%T %s comes", o, m.GetName()), nil
	}
}

// measured are the names of the metrics that are compared. What the host keeps by itself isn't: nothing of a plugin's
// is in it.
func (s *Subject) measured() (names []string) {
	for _, m := range s.Plugin.Manifest().Metrics {
		switch m.Type {
		case abi.MetricStale, abi.MetricCodes, abi.MetricCodeSeconds:
			continue
		}
		if s.Unmeasured[m.Name] == "" {
			names = append(names, m.Name)
		}
	}
	return names
}

// index finds the controller in its plugin.
func (s *Subject) index() (int32, error) {
	m := s.Plugin.Manifest()
	i := slices.IndexFunc(m.Controllers, func(c abi.Controller) bool { return c.Name == s.Controller })
	if i < 0 {
		return 0, fmt.Errorf("plugin %s has no controller %s", m.Name, s.Controller)
	}
	return int32(i), nil
}

// indexes finds the controller and those that are part of it.
func (s *Subject) indexes() ([]int32, error) {
	first, err := s.index()
	all := []int32{first}
	for i, c := range s.Plugin.Manifest().Controllers {
		if c.PartOf == s.Controller {
			all = append(all, int32(i))
		}
	}
	return all, err
}

// wakers are those of a controller's parts that do nothing but wake it; the others have worlds of their own.
func (s *Subject) wakers(indexes []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(indexes[1:]), func(i int32) bool {
		return len(s.Plugin.Manifest().Controllers[i].Writes) > 0
	})
}

// settings are the plugin's, with their defaults.
func (s *Subject) settings() *abi.Settings {
	m := s.Plugin.Manifest()
	out := &abi.Settings{Values: make([]string, len(m.Settings))}
	for i, x := range m.Settings {
		out.Values[i] = x.Default
		if v, ok := s.Settings[x.Name]; ok {
			out.Values[i] = v
		}
	}
	return out
}

func (s *Subject) key(k string) string {
	if s.Key != nil {
		k = s.Key(k)
	}
	return strings.TrimPrefix(k, "/")
}
