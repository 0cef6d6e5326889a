package scenario

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

const flipsPerSecond = 20

var flips = &Scenario{
	Name: "service", Base: empty, Title: titleWithNumbers("Service of %d pods, readiness flips at 20 a second for %d s",
		1000, 1000, 60, 8),
	Setup: func(ctx context.Context, w *World) error {
		const n = 1000
		if err := w.namespace(ctx, "service"); err != nil {
			return err
		}
		if _, err := w.Client.CoreV1().Services("service").Create(ctx, service("service"), metav1.CreateOptions{}); err !=
			nil {
			return err
		}
		prototype, err := w.prototype(ctx, "service", "service", nil)
		if err != nil {
			return err
		}
		if err := w.createClones(ctx, prototype, 0, n, few); err != nil {
			return err
		}
		return watchUntil(ctx, w, w.Client.DiscoveryV1().RESTClient(), "endpointslices", "service",
			&discoveryv1.EndpointSlice{},
			"1000 endpoints", func(all []*discoveryv1.EndpointSlice) (bool, string) {
				ready := 0
				for _, s := range all {
					for _, e := range s.Endpoints {
						if *e.Conditions.Ready {
							ready++
						}
					}
				}
				return ready == n, fmt.Sprint(ready)
			})
	},
	Act: func(ctx context.Context, w *World) error {
		list, err := w.Client.CoreV1().Pods("service").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		seen := w.observe(ctx, "service")
		defer seen.stop()
		n := w.Size(60, 8) * flipsPerSecond
		tick := time.NewTicker(time.Second / flipsPerSecond)
		defer tick.Stop()
		var flipping sync.WaitGroup
		errs := make([]error, n)
		for i := range n {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
			// Pods go one after the other, and come back in the same order once half of the flips are over.
			p, ready := list.Items[i%(n/2)].Name, i >= n/2
			flipping.Go(func() { errs[i] = w.setReady(ctx, "service", p, ready) })
		}
		flipping.Wait()
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		w.Events = n
		return w.pollUntil(ctx, 50*time.Millisecond, "all flips are in the slices", func() (bool, string, error) {
			var missing int
			w.Reactions, missing = seen.reactions()
			return missing == 0, fmt.Sprint(missing, " are missing"), nil
		})
	},
}

// observer sees pods' readiness change, and slices follow, both as the watches of one client deliver them.
type observer struct {
	mu    sync.Mutex
	pods  map[string]bool      // the readiness of each pod
	since map[string]time.Time // of pods whose slice has not followed
	took  []time.Duration
	stop  func()
}

func (w *World) observe(ctx context.Context, namespace string) *observer {
	ctx, cancel := context.WithCancel(ctx)
	o := &observer{pods: map[string]bool{}, since: map[string]time.Time{}}
	var g sync.WaitGroup
	o.stop = func() { cancel(); g.Wait() }
	pods, slices := w.informer(w.Client.CoreV1().RESTClient(), "pods", namespace, &corev1.Pod{}, o.observePod),
		w.informer(w.Client.DiscoveryV1().RESTClient(), "endpointslices", namespace, &discoveryv1.EndpointSlice{},
			o.observeSlice)
	g.Go(func() { pods.RunWithContext(ctx) })
	g.Go(func() { slices.RunWithContext(ctx) })
	cache.WaitForCacheSync(ctx.Done(), pods.HasSynced, slices.HasSynced)
	return o
}

// observePod notes a pod's readiness.
func (o *observer) observePod(object any) {
	now, p := time.Now(), object.(*corev1.Pod)
	ready := false
	for _, c := range p.Status.Conditions {
		ready = ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if was, ok := o.pods[p.Name]; ok && was != ready {
		if _, waits := o.since[p.Name]; waits {
			delete(o.since, p.Name) // it is back before the slice has followed: nobody is wrong
		} else {
			o.since[p.Name] = now
		}
	}
	o.pods[p.Name] = ready
}

// observeSlice ends the wait of the pods that it shows as they are.
func (o *observer) observeSlice(object any) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range object.(*discoveryv1.EndpointSlice).Endpoints {
		name := e.TargetRef.Name
		if from, waits := o.since[name]; waits && *e.Conditions.Ready == o.pods[name] {
			o.took = append(o.took, now.Sub(from))
			delete(o.since, name)
		}
	}
}

func (o *observer) reactions() ([]time.Duration, int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]time.Duration(nil), o.took...), len(o.since)
}

// informer calls f with each object that comes or changes.
func (w *World) informer(client cache.Getter, resource, namespace string, example runtime.Object,
	f func(any)) cache.Controller {
	_, c := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(client, resource, namespace, fields.Everything()), ObjectType: example,
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: f, UpdateFunc: func(_, new any) { f(new) }},
	})
	return c
}
