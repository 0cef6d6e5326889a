package resourcequota

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/utils/clock"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/resourcequota"
	"github.com/windlass-dev/windlass/sdk"
)

// namespace is what there is in a quota's namespace, in the order in which both see it; and the device classes.
type namespace struct {
	quota        *corev1.ResourceQuota
	pods         []*corev1.Pod
	services     []*corev1.Service
	volumeClaims []*corev1.PersistentVolumeClaim
	deviceClaims []*resourcev1.ResourceClaim
	classes      []*resourcev1.DeviceClass
	// others are how many objects there are of other resources.
	others map[string]int
}

// size is how many objects there are to be counted.
func (n *namespace) size() int {
	return len(n.pods) + len(n.services) + len(n.volumeClaims) + len(n.deviceClaims)
}

// inOrder lists objects in their order: which of several ways to write a sum is taken hangs on it.
type inOrder []runtime.Object

func (l inOrder) List(labels.Selector) ([]runtime.Object, error)  { return l, nil }
func (l inOrder) Get(string) (runtime.Object, error)              { panic("nobody gets one") }
func (l inOrder) ByNamespace(string) cache.GenericNamespaceLister { return l }
func (n *namespace) lister(r schema.GroupVersionResource) cache.GenericLister {
	switch r.Resource {
	case "pods":
		return ordered(n.pods)
	case "services":
		return ordered(n.services)
	case "persistentvolumeclaims":
		return ordered(n.volumeClaims)
	}
	if others, ok := n.others[r.GroupResource().String()]; ok {
		return make(inOrder, others)
	}
	return ordered(n.deviceClaims)
}

func ordered[T runtime.Object](objects []T) (l inOrder) {
	for _, o := range objects {
		l = append(l, o)
	}
	return l
}

// upstreamUsage is what upstream's evaluators find to be in use.
func (n *namespace) upstreamUsage() (corev1.ResourceList, error) {
	lister := func(r schema.GroupVersionResource) (cache.GenericLister, error) { return n.lister(r), nil }
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, p := range n.pods {
		if err := indexer.Add(p); err != nil {
			return nil, err
		}
	}
	mapping := extendedresourcecache.NewExtendedResourceCache(klog.Background())
	for _, c := range n.classes {
		mapping.OnAdd(c, true)
	}

	ownedBy := func(_ string, uid types.UID) (owned []*resourcev1.ResourceClaim, _ error) {
		for _, c := range n.deviceClaims {
			if o := metav1.GetControllerOf(c); o != nil && o.UID == uid && o.Kind == "Pod" && o.APIVersion == "v1" &&
				c.Annotations[resourcev1.ExtendedResourceClaimAnnotation] == "true" {
				owned = append(owned, c)
			}
		}
		return owned, nil
	}
	evaluators := []quota.Evaluator{core.NewPodEvaluator(lister, clock.RealClock{}),
		core.NewServiceEvaluator(lister), core.NewPersistentVolumeClaimEvaluator(lister),
		core.NewResourceClaimEvaluator(lister, mapping, corelisters.NewPodLister(indexer), ownedBy)}
	for name := range n.others {
		r := schema.ParseGroupResource(name)
		alias := corev1.ResourceName("")
		if name == "secrets" {
			alias = corev1.ResourceSecrets
		}
		evaluators = append(evaluators, generic.NewObjectCountEvaluator(r,
			generic.ListResourceUsingListerFunc(lister, r.WithVersion("v1")), alias))
	}
	q := n.quota
	found, err := quota.CalculateUsage(q.Namespace, q.Spec.Scopes, quota.Add(nil, q.Spec.Hard),
		generic.NewRegistry(evaluators), q.Spec.ScopeSelector)
	if err != nil {
		return nil, err
	}

	used := quota.Add(nil, q.Status.Used)
	for name, amount := range found {
		used[name] = amount
	}
	return quota.Mask(used, quota.ResourceNames(q.Spec.Hard)), nil
}

// stored returns the object as who reads it from the API server has it: amounts say less of how they were written.
func stored[T marshaler](o T, empty T) T {
	b, err := o.Marshal()
	if err == nil {
		err = empty.Unmarshal(b)
	}
	if err != nil {
		panic(err)
	}
	return empty
}

type marshaler interface {
	metav1.Object
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

func wired[T marshaler](objects []T, keep func(T) bool) (all []abi.ObjectData) {
	for i, o := range objects {
		if !keep(o) {
			continue
		}
		if i > 0 && objects[i-1].GetName() == o.GetName() { // as a distinct view has them
			all[len(all)-1].Count++
			continue
		}
		b, err := o.Marshal()
		if err != nil {
			panic(err)
		}
		all = append(all, abi.ObjectData{Data: b, Count: 1})
	}
	return all
}

func every[T any](T) bool { return true }

func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

func forced(p *corev1.Pod) bool {
	return !ended(p) && p.DeletionTimestamp != nil && p.DeletionGracePeriodSeconds != nil &&
		*p.DeletionGracePeriodSeconds == 0
}

// asked is what the host answers a view with.
func (n *namespace) asked(view string, a *abi.Ask) []abi.ObjectData {
	ofPod := func(c *resourcev1.ResourceClaim) bool {
		return c.Annotations[resourcev1.ExtendedResourceClaimAnnotation] == "true"
	}
	switch view {
	case "pods":
		return wired(n.pods, func(p *corev1.Pod) bool { return !ended(p) && !forced(p) })
	case "forced pods":
		return wired(n.pods, forced)
	case "ended pods":
		return wired(n.pods, ended)
	case "claiming pods":
		return wired(n.pods, func(p *corev1.Pod) bool { return slices.Contains(a.Names, p.Name) })
	case "services":
		return wired(n.services, every)
	case "persistentvolumeclaims":
		return wired(n.volumeClaims, every)
	case "resourceclaims":
		return wired(n.deviceClaims, func(c *resourcev1.ResourceClaim) bool { return !ofPod(c) })
	case "claims of pods":
		return wired(n.deviceClaims, ofPod)
	case "deviceclasses":
		return wired(n.classes, every)
	}
	panic("nobody knows what is in view " + view)
}

// pluginUsage is what the plugin writes into the quota's status, and what it says before if it writes nothing.
func (n *namespace) pluginUsage(m *abi.Manifest) (corev1.ResourceList, error) {
	views := m.Controllers[0].Views
	request := &abi.SyncRequest{Key: abi.KeyRef{Namespace: n.quota.Namespace, Name: n.quota.Name},
		Now: time.Now().UnixNano(), Views: make([]abi.ViewData, len(views))}
	request.Views[0].Objects = wired([]*corev1.ResourceQuota{n.quota}, every)
	perform := func(p *abi.PerformRequest) (*abi.PerformResponse, error) {
		r := &abi.PerformResponse{}
		for i := range p.Effects {
			ask := p.Effects[i].Ask
			data := &abi.ViewData{View: ask.View}
			if view := views[ask.View].Name; view == "objects" {
				others, ok := n.others[ask.Resource]
				data.Count, data.Unserved = int64(others), !ok
			} else {
				data.Objects = n.asked(view, ask)
			}
			r.Outcomes = append(r.Outcomes, abi.Outcome{View: data})
		}
		return r, nil
	}

	answer := sdk.Run(resourcequota.Plugin, request, nil, perform)
	if answer.Error != "" {
		return nil, fmt.Errorf("%s", answer.Error)
	}
	if len(answer.Effects) == 0 {
		return n.quota.Status.Used, nil
	}
	written := &corev1.ResourceQuota{}
	err := written.Unmarshal(answer.Effects[0].Object)
	if err == nil && !equality.Semantic.DeepEqual(written.Status.Hard, written.Spec.Hard) {
		err = fmt.Errorf("status.hard is %v, not %v", written.Status.Hard, written.Spec.Hard)
	}
	return written.Status.Used, err
}

// texts are the amounts as the API server writes them that has read them.
func texts(l corev1.ResourceList) string {
	var all []string
	for name, q := range l {
		q = resource.MustParse(q.String())
		q.Neg() // it may have kept its text
		q.Neg()
		all = append(all, string(name)+"="+q.String())
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestUsage compares what is in use with what upstream's own evaluators find, on so many random objects (OBJECTS).
func TestUsage(t *testing.T) {
	objects := 20_000
	if n, err := strconv.Atoi(os.Getenv("OBJECTS")); err == nil {
		objects = n
	}
	first := 0
	if n, err := strconv.Atoi(os.Getenv("SEED")); err == nil {
		first = n
	}
	m := resourcequota.Plugin.Manifest()
	counted := map[string]int{}

	for seed := first; objects > 0; seed++ {
		n := newNamespace(world.NewRand(uint64(seed)))
		objects -= n.size() + 1
		got, err := n.pluginUsage(m)
		if err != nil {
			t.Fatalf("SEED=%d: %v", seed, err)
		}
		want, err := n.upstreamUsage()
		// Which evaluator is the first is chance, and with it how a sum of several is written.
		for again := 0; err == nil && again < 20 && texts(got) != texts(want); again++ {
			want, err = n.upstreamUsage()
		}
		if err != nil {
			t.Fatal(err)
		}
		if texts(got) != texts(want) {
			t.Fatalf("SEED=%d of %s %v:\n upstream %s\n plugin   %s", seed, texts(n.quota.Spec.Hard), n.quota.Spec.Scopes,
				texts(want), texts(got))
		}
		for name, q := range want {
			if q.Sign() > 0 {
				counted[string(name)]++
			}
		}
	}
	for _, name := range hardNames {
		if counted[name] == 0 && !slices.Contains(neverCounted, name) {
			t.Errorf("nothing was ever counted for %s: the random objects are too few", name)
		}
	}
}
