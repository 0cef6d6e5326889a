package garbagecollector

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"testing"
	_ "unsafe" // for go:linkname

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/klog/v2"
	upstream "k8s.io/kubernetes/pkg/controller/garbagecollector"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/garbagecollector"
)

//go:linkname processGraphChanges k8s.io/kubernetes/pkg/controller/garbagecollector.(*GraphBuilder).processGraphChanges
func processGraphChanges(*upstream.GraphBuilder, klog.Logger) bool

//go:linkname syncMonitors k8s.io/kubernetes/pkg/controller/garbagecollector.(*GraphBuilder).syncMonitors
func syncMonitors(*upstream.GraphBuilder, klog.Logger, map[schema.GroupVersionResource]struct{}) error

//go:linkname attemptToDelete k8s.io/kubernetes/pkg/controller/garbagecollector.(*GarbageCollector).processAttemptToDeleteWorker
func attemptToDelete(*upstream.GarbageCollector, context.Context) bool

//go:linkname attemptToOrphan k8s.io/kubernetes/pkg/controller/garbagecollector.(*GarbageCollector).processAttemptToOrphanWorker
func attemptToOrphan(*upstream.GarbageCollector, klog.Logger) bool

// mapper never learns of anything new.
type mapper struct{ meta.RESTMapper }

func (mapper) Reset() {}

func mapperOf(all []*metav1.APIResourceList) meta.ResettableRESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, l := range all {
		gv, _ := schema.ParseGroupVersion(l.GroupVersion)
		for _, r := range l.APIResources {
			scope := meta.RESTScopeRoot
			if r.Namespaced {
				scope = meta.RESTScopeNamespace
			}
			m.AddSpecific(gv.WithKind(r.Kind), gv.WithResource(r.Name), gv.WithResource(r.Name), scope)
		}
	}
	return mapper{m}
}

// waits returns how many items are in a queue of the collector's.
func waits(of any, field string) int {
	q := reflect.ValueOf(of).Elem().FieldByName(field)
	return native.Exposed(q).(interface{ Len() int }).Len()
}

// rotate puts a queue's first item behind the others: of twenty workers side by side any may come first.
func rotate(of any, field string) {
	q := reflect.ValueOf(native.Exposed(reflect.ValueOf(of).Elem().FieldByName(field)))
	item := q.MethodByName("Get").Call(nil)[:1]
	q.MethodByName("Done").Call(item)
	q.MethodByName("Add").Call(item)
}

func collector(e *native.Env) (*native.Made, error) {
	served, err := e.Served()
	if err != nil {
		return nil, err
	}

	started := make(chan struct{})
	close(started)
	informers := informerfactory.NewInformerFactory(e.Informers, metadatainformer.NewSharedInformerFactory(e.Metadata, 0))
	gc, err := upstream.NewGarbageCollector(e.Context, e.Client, e.Metadata, mapperOf(served), nil, informers, started)
	if err != nil {
		return nil, err
	}

	all := map[schema.GroupVersionResource]struct{}{}
	for _, l := range served {
		gv, _ := schema.ParseGroupVersion(l.GroupVersion)
		for _, r := range l.APIResources {
			all[gv.WithResource(r.Name)] = struct{}{}
		}
	}

	log, graph := klog.FromContext(e.Context), gc.GetDependencyGraphBuilder()
	if err := syncMonitors(graph, log, all); err != nil {
		return nil, err
	}

	work := func(ctx context.Context) bool {
		orphaning := waits(gc, "attemptToOrphan") > 0
		switch {
		case waits(graph, "graphChanges") > 0:
			return processGraphChanges(graph, log)
		case waits(gc, "attemptToDelete") > 0 && (!orphaning || e.Pick(2) == 0):
			for range e.Pick(1 + waits(gc, "attemptToDelete")) {
				rotate(gc, "attemptToDelete")
			}
			return attemptToDelete(gc, ctx)
		case orphaning:
			return attemptToOrphan(gc, log)
		}
		return false
	}

	end := func() {
		for _, q := range []string{"attemptToDelete", "attemptToOrphan"} {
			native.Exposed(reflect.ValueOf(gc).Elem().FieldByName(q)).(interface{ ShutDown() }).ShutDown()
		}
		native.Exposed(reflect.ValueOf(graph).Elem().FieldByName("graphChanges")).(interface{ ShutDown() }).ShutDown()
	}
	return &native.Made{Controller: gc, Work: work, End: end}, nil
}

var resources = []schema.GroupVersionResource{
	corev1.SchemeGroupVersion.WithResource("configmaps"),
	corev1.SchemeGroupVersion.WithResource("serviceaccounts"),
	corev1.SchemeGroupVersion.WithResource("nodes"),
	appsv1.SchemeGroupVersion.WithResource("replicasets"),
	appsv1.SchemeGroupVersion.WithResource("controllerrevisions"),
}

func TestAsUpstream(t *testing.T) {
	var deeds []differential.Deed
	var faults []string
	for _, r := range resources {
		faults = append(faults, "delete "+r.Resource, "patch "+r.Resource)
		deeds = append(deeds, differential.Delete(r), differential.Delete(r), differential.Vanish(r), finalizersOf(r),
			ownersOf(r))
	}
	differential.Run(t, &differential.Subject{
		Controller: "garbage-collector-controller",
		Plugin:     garbagecollector.Plugin,
		Native:     collector,
		World:      objects,
		Deeds:      deeds,
		Faults:     faults,
		Apart:      true,
		Explain:    explain,
	})
}

// hasBothFinalizers reports whether an object's dependents are to be orphaned, and to be waited for.
func hasBothFinalizers(o metav1.Object) bool {
	return slices.Contains(o.GetFinalizers(), metav1.FinalizerOrphanDependents) &&
		slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents)
}

// explain says what all that only one of the two has written has in common, where that explains it.
func explain(objects []runtime.Object, difference string) string {
	g := graphOf(objects)
	var only []metav1.Object
	updates := true // and nothing else
	for _, m := range written.FindAllStringSubmatch(difference, -1) {
		i := slices.IndexFunc(g, func(o metav1.Object) bool { return o.GetName() == m[2] })
		if i < 0 {
			return ""
		}
		only = append(only, g[i])
		updates = updates && m[1] == "update"
	}
	all := func(in map[types.UID]bool) bool {
		return !slices.ContainsFunc(only, func(o metav1.Object) bool { return !in[o.GetUID()] })
	}

	switch {
	case slices.ContainsFunc(g, hasBothFinalizers):
		return "an object has both of the collector's finalizers\n"
	case all(g.below(g.namedUnserved())):
		return "below an owner that is named by a kind that isn't served\n"
	case updates && all(g.going()):
		return "references of objects that go either way\n"
	case all(g.below(g.letGoAtOnce())):
		return "below an owner that waits for nobody, and that another's finalizer keeps\n"
	case all(g.nearOnesThatHaveWaited()):
		return "beside an object that has waited for its dependents, and that another's finalizer keeps\n"
	}
	return ""
}

var written = regexp.MustCompile(`(?m)^[-+](delete|update) \S+ (?:\S+/)?(\S+)`)

// graph are objects that own each other.
type graph []metav1.Object

func graphOf(objects []runtime.Object) (g graph) {
	for _, o := range objects {
		g = append(g, o.(metav1.Object))
	}
	return g
}

// below returns the objects that have some of the owners, at any remove.
func (g graph) below(owners map[types.UID]bool) map[types.UID]bool {
	found, all := map[types.UID]bool{}, maps.Clone(owners)
	for range g { // until all that hang on them are known
		for _, o := range g {
			if slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return all[r.UID] }) {
				found[o.GetUID()], all[o.GetUID()] = true, true
			}
		}
	}
	return found
}

// namedUnserved returns the owners that somebody names by a kind that isn't served.
func (g graph) namedUnserved() map[types.UID]bool {
	named := map[types.UID]bool{}
	for _, o := range g {
		for _, ref := range o.GetOwnerReferences() {
			if ref.Kind == "Nothing" || ref.APIVersion == "example.com/v1" {
				named[ref.UID] = true
			}
		}
	}
	return named
}

// going returns the objects that are being deleted, or have lost all of their owners to be so.
func (g graph) going() map[types.UID]bool {
	going := map[types.UID]bool{}
	keeps := func(of metav1.Object, ref metav1.OwnerReference) bool {
		return slices.ContainsFunc(g, func(o metav1.Object) bool {
			return o.GetUID() == ref.UID && o.GetName() == ref.Name && !going[ref.UID] &&
				(o.GetNamespace() == "" || o.GetNamespace() == of.GetNamespace())
		})
	}
	for range g {
		for _, o := range g {
			refs := o.GetOwnerReferences()
			going[o.GetUID()] = o.GetDeletionTimestamp() != nil ||
				len(refs) > 0 && !slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool { return keeps(o, r) })
		}
	}
	return going
}

// letGoAtOnce returns the owners that are being deleted in the foreground, are blocked by nobody, and are kept by
// another's finalizer: what of their dependents is looked at before that, goes.
func (g graph) letGoAtOnce() map[types.UID]bool {
	owners := map[types.UID]bool{}
	for _, o := range g {
		owners[o.GetUID()] = o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) > 1 &&
			slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents) && !g.blocked(o)
	}
	return owners
}

func (g graph) blocked(owner metav1.Object) bool {
	return slices.ContainsFunc(g, func(o metav1.Object) bool {
		return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
			return r.UID == owner.GetUID() && r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion
		})
	})
}

// nearOnesThatHaveWaited returns the owners, and their owners, of what is being deleted and doesn't wait for its
// dependents, though it may have done so.
func (g graph) nearOnesThatHaveWaited() map[types.UID]bool {
	near := map[types.UID]bool{}
	for _, o := range g {
		if o.GetDeletionTimestamp() == nil || slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents) {
			continue
		}
		for _, owner := range g.ownersOf(o) {
			near[owner.GetUID()] = true
			for _, above := range g.ownersOf(owner) {
				near[above.GetUID()] = true
			}
		}
	}
	return near
}

// ownersOf returns those of the object's owners that there are.
func (g graph) ownersOf(o metav1.Object) (owners []metav1.Object) {
	for _, x := range g {
		if slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == x.GetUID() }) {
			owners = append(owners, x)
		}
	}
	return owners
}

func finalizersOf(gvr schema.GroupVersionResource) differential.Deed {
	return differential.Vary(gvr, "finalizers", func(r *world.Rand,
		o metav1Object) {
		o.SetFinalizers(finalizers(r, o.GetDeletionTimestamp() != nil))
	})
}

func ownersOf(gvr schema.GroupVersionResource) differential.Deed {
	return func(r *world.Rand, c *api.Cluster) (string, error) {
		var all []metav1Object
		for _, gvr := range resources {
			l, err := c.List(gvr)
			if err != nil {
				return "", err
			}
			for _, o := range l {
				all = append(all, o.(metav1Object))
			}
		}
		return differential.Vary(gvr, "owners", func(r *world.Rand, o metav1Object) {
			had := o.GetOwnerReferences()
			all = slices.DeleteFunc(all, func(x metav1Object) bool { return x.GetName() >= o.GetName() }) // no circles
			if len(all) == 0 {
				return
			}
			// A reference that is changed and keeps its UID upstream doesn't look at again.
			o.SetOwnerReferences(slices.DeleteFunc(owners(r, all), func(ref metav1.OwnerReference) bool {
				return slices.ContainsFunc(had, func(h metav1.OwnerReference) bool { return h.UID == ref.UID })
			}))
		})(r, c)
	}
}

type metav1Object interface {
	runtime.Object
	metav1.Object
}

// objects are some of few kinds that own each other, or nobody, or what isn't there.
func objects(r *world.Rand) []runtime.Object {
	var all []metav1Object
	for i := range 3 + r.IntN(7) {
		o := world.Of(r, func() metav1Object { return &corev1.ConfigMap{} },
			func() metav1Object { return &corev1.ConfigMap{} },
			func() metav1Object { return &corev1.ServiceAccount{} }, func() metav1Object { return &corev1.Node{} },
			func() metav1Object {
				return &appsv1.ControllerRevision{Revision: 1, Data: runtime.RawExtension{Raw: []byte(`{}`)}}
			}, set)()
		o.SetName(fmt.Sprintf("o-%d", i))
		o.SetUID(r.UID())
		if _, ok := o.(*corev1.Node); !ok {
			o.SetNamespace(world.Of(r, world.Namespace, world.Namespace, world.Namespace, "other"))
		}
		all = append(all, o)
	}

	out := []runtime.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other",
		UID: "00000000-0000-4000-8000-00000000fffd"}}}
	for i, o := range all {
		if i > 0 && !r.One(4) {
			o.SetOwnerReferences(owners(r, all[:i])) // no circles yet: upstream comes out of them by races
		}
		// deletions are deeds: how one goes on that began before is a race in upstream's graph
		o.SetFinalizers(finalizers(r, false))
		out = append(out, o)
	}
	return out
}

func set() metav1Object {
	labels := map[string]string{"app": "web"}
	return &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main",
				Image: "web"}}},
		}}}
}

func finalizers(r *world.Rand, deleting bool) []string {
	if !deleting {
		return world.Of(r, nil, nil, nil, []string{"example.com/stay"})
	}
	return world.Of(r, []string{metav1.FinalizerDeleteDependents}, []string{metav1.FinalizerOrphanDependents},
		[]string{"example.com/stay"},
		[]string{"example.com/stay", metav1.FinalizerDeleteDependents},
		[]string{metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents})
}

var kinds = map[reflect.Type]schema.GroupVersionKind{
	reflect.TypeFor[*corev1.ConfigMap]():          corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	reflect.TypeFor[*corev1.ServiceAccount]():     corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
	reflect.TypeFor[*corev1.Node]():               corev1.SchemeGroupVersion.WithKind("Node"),
	reflect.TypeFor[*appsv1.ReplicaSet]():         appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
	reflect.TypeFor[*appsv1.ControllerRevision](): appsv1.SchemeGroupVersion.WithKind("ControllerRevision"),
}

// owners are references to some of the objects, right ones in most cases.
func owners(r *world.Rand, all []metav1Object) (refs []metav1.OwnerReference) {
	seen := map[types.UID]bool{}
	for range 1 + r.IntN(2) {
		of := all[r.IntN(len(all))]
		gvk := kinds[reflect.TypeOf(of)]
		ref := metav1.OwnerReference{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: of.GetName(),
			UID: of.GetUID(), BlockOwnerDeletion: world.Maybe(r, r.One(2))}
		switch r.IntN(12) {
		case 0:
			ref.UID = r.UID()
		case 1:
			ref.Name = "nobody"
		case 2:
			ref.Name, ref.UID = "nobody", r.UID()
		case 3:
			ref.Kind = "Nothing"
		case 4:
			ref.APIVersion = "example.com/v1"
		}
		if seen[ref.UID] {
			continue
		}
		seen[ref.UID] = true
		refs = append(refs, ref)
	}
	return refs
}
