package disruption

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	coreinformers "k8s.io/client-go/informers/core/v1"
	policyinformers "k8s.io/client-go/informers/policy/v1"
	policyclient "k8s.io/client-go/kubernetes/typed/policy/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/client-go/tools/cache"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	upstream "k8s.io/kubernetes/pkg/controller/disruption"

	"github.com/windlass-dev/windlass/differential/native"
)

// listener stands between upstream's controller and what happens. It lets through what somebody looks at; it has all
// budgets be woken that select a pod, or have done so, and not any one that does now; and what the controller has
// written itself it keeps back.
type listener struct {
	budgets policyclient.PodDisruptionBudgetsGetter
	lister  policylisters.PodDisruptionBudgetLister
	queue   *native.Queue[string]
	own     map[string]bool // versions
	failed  string          // the budget whose sync has failed and that is said to allow nothing
}

// write writes a status as upstream's controller does.
func (l *listener) write(ctx context.Context, b *policyv1.PodDisruptionBudget) error {
	written, err := l.budgets.PodDisruptionBudgets(b.Namespace).UpdateStatus(ctx, b, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	l.own[written.ResourceVersion] = true
	said := meta.FindStatusCondition(b.Status.Conditions, policyv1.DisruptionAllowedCondition)
	if said.Reason == policyv1.SyncFailedReason {
		l.failed = b.Namespace + "/" + b.Name
	}
	return nil
}

// replaceWriter has a controller write by the listener.
func (l *listener) replaceWriter(c *upstream.DisruptionController) {
	f := reflect.ValueOf(c).Elem().FieldByName("getUpdater")
	f = reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
	write := reflect.ValueOf(l.write).Convert(f.Type().Out(0))
	f.Set(reflect.MakeFunc(f.Type(), func([]reflect.Value) []reflect.Value { return []reflect.Value{write} }))
}

// heedsBudget reports whether anybody looks at what has changed of a budget.
func (l *listener) heedsBudget(old, now *policyv1.PodDisruptionBudget) bool {
	return !l.own[now.ResourceVersion] && (old.Generation != now.Generation ||
		!equality.Semantic.DeepEqual(old.Spec, now.Spec) || !equality.Semantic.DeepEqual(old.Status, now.Status))
}

// heedsPod reports whether anybody looks at what has changed of a pod, beside which budgets select it.
func heedsPod(old, now *corev1.Pod) bool {
	return podutil.IsPodReady(old) != podutil.IsPodReady(now) ||
		!old.DeletionTimestamp.Equal(now.DeletionTimestamp) ||
		!equality.Semantic.DeepEqual(old.OwnerReferences, now.OwnerReferences)
}

// of are the budgets that select a pod.
func (l *listener) of(p *corev1.Pod) (keys []string) {
	all, err := l.lister.PodDisruptionBudgets(p.Namespace).List(labels.Everything())
	if err != nil {
		panic(err) // no lister of a cache fails
	}
	for _, b := range all {
		if s, err := metav1.LabelSelectorAsSelector(b.Spec.Selector); err == nil && s.Matches(labels.Set(p.Labels)) {
			keys = append(keys, b.Namespace+"/"+b.Name)
		}
	}
	slices.Sort(keys)
	return keys
}

// wake wakes budgets.
func (l *listener) wake(keys ...string) {
	for _, key := range keys {
		if l.queue != nil && !slices.Contains(l.queue.Woken, key) {
			l.queue.Add(key)
		}
	}
}

// updated wakes the budgets of a pod that has changed: all where somebody looks at that, else those that have won or
// lost it.
func (l *listener) updated(f cache.ResourceEventHandler, old, now *corev1.Pod) {
	before, after := l.of(old), l.of(now)
	if heedsPod(old, now) {
		f.OnUpdate(old, now)
		l.wake(before...)
		l.wake(after...)
		return
	}
	l.wake(slices.DeleteFunc(slices.Concat(before, after), func(key string) bool {
		return slices.Contains(before, key) && slices.Contains(after, key)
	})...)
}

// heardPods are pods whose changes come by a listener, listed in the order of their names: which of several that can't
// be computed a message names is a matter of chance otherwise.
type heardPods struct {
	coreinformers.PodInformer
	l *listener
}

func (h heardPods) Informer() cache.SharedIndexInformer {
	return heardInformer{h.PodInformer.Informer(), func(f cache.ResourceEventHandler) cache.ResourceEventHandler {
		return cache.ResourceEventHandlerDetailedFuncs{
			AddFunc:    func(o any, initial bool) { f.OnAdd(o, initial); h.l.wake(h.l.of(o.(*corev1.Pod))...) },
			UpdateFunc: func(old, now any) { h.l.updated(f, old.(*corev1.Pod), now.(*corev1.Pod)) },
			DeleteFunc: func(o any) { f.OnDelete(o); h.l.wake(h.l.of(o.(*corev1.Pod))...) },
		}
	}}
}

func (h heardPods) Lister() corelisters.PodLister { return sortedPods{h.PodInformer.Lister()} }

type sortedPods struct{ corelisters.PodLister }

func (s sortedPods) Pods(namespace string) corelisters.PodNamespaceLister {
	return sortedPodsOf{s.PodLister.Pods(namespace)}
}

type sortedPodsOf struct{ corelisters.PodNamespaceLister }

func (s sortedPodsOf) List(selector labels.Selector) ([]*corev1.Pod, error) {
	all, err := s.PodNamespaceLister.List(selector)
	slices.SortFunc(all, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return all, err
}

// heardBudgets are budgets whose changes come by a listener.
type heardBudgets struct {
	policyinformers.PodDisruptionBudgetInformer
	l *listener
}

func (h heardBudgets) Informer() cache.SharedIndexInformer {
	between := func(f cache.ResourceEventHandler) cache.ResourceEventHandler {
		return cache.ResourceEventHandlerDetailedFuncs{
			AddFunc: f.OnAdd,
			UpdateFunc: func(old, now any) {
				if h.l.heedsBudget(old.(*policyv1.PodDisruptionBudget), now.(*policyv1.PodDisruptionBudget)) {
					f.OnUpdate(old, now)
				}
			},
			DeleteFunc: f.OnDelete,
		}
	}
	return heardInformer{h.PodDisruptionBudgetInformer.Informer(), between}
}

// heardInformer hands events to what between makes of a handler.
type heardInformer struct {
	cache.SharedIndexInformer
	between func(cache.ResourceEventHandler) cache.ResourceEventHandler
}

func (i heardInformer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandler(i.between(h))
}
