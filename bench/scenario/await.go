package scenario

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// patience is how long a convergence may take, on the slowest machine.
const patience = 15 * time.Minute

// pollUntil looks every so often until the condition holds.
func (w *World) pollUntil(ctx context.Context, every time.Duration, what string,
	condition func() (done bool, seen string, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		done, seen, err := condition()
		if done && err == nil {
			return nil
		}
		if err := w.Alive(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w; seen last: %s (%v)", what, ctx.Err(), seen, err)
		case <-tick.C:
		}
	}
}

// watchUntil waits until the condition holds of all objects of a resource in a namespace (or in all). It looks at each
// change, and so is as quick as the API server.
func watchUntil[T runtime.Object](ctx context.Context, w *World, client rest.Interface, resource, namespace string,
	example T, what string, condition func([]T) (done bool, seen string)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	changed := make(chan struct{}, 1)
	poke := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}

	store, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(client, resource, namespace, fields.Everything()),
		ObjectType:    example,
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: func(any) {
			poke()
		}, UpdateFunc: func(any, any) { poke() }, DeleteFunc: func(any) { poke() }},
	})

	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	defer running.Wait()
	defer cancel()
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return fmt.Errorf("%s: %w", what, ctx.Err())
	}

	alive := time.NewTicker(time.Second)
	defer alive.Stop()
	for {
		var all []T
		for _, o := range store.List() {
			all = append(all, o.(T))
		}
		done, seen := condition(all)
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-alive.C:
			if err := w.Alive(); err != nil {
				return err
			}
		case <-ctx.Done():
			return fmt.Errorf("%s: %w; seen last: %s", what, ctx.Err(), seen)
		}
	}
}

// parallel does something n times, so many at once, and returns the first error.
func parallel(ctx context.Context, n, atOnce int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var errs []error
	var g sync.WaitGroup

	next := make(chan int)
	for range min(n, atOnce) {
		g.Go(func() {
			for i := range next {
				if err := f(ctx, i); err != nil && ctx.Err() == nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
					cancel()
				}
			}
		})
	}

	for i := range n {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}

	close(next)
	g.Wait()
	if len(errs) > 0 {
		return errs[0]
	}
	return ctx.Err()
}

// namespace makes a namespace and waits until pods can be made in it.
func (w *World) namespace(ctx context.Context, name string) error {
	if _, err := w.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{}); err != nil {
		return err
	}
	return w.pollUntil(ctx, 20*time.Millisecond, "the service account of namespace "+name, func() (bool, string, error) {
		_, err := w.Client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, "", err
	})
}

// awaitPods waits until a namespace (or all of them) has so many pods.
func (w *World) awaitPods(ctx context.Context, namespace string, want int64) error {
	return w.pollUntil(ctx, 50*time.Millisecond, fmt.Sprintf("%d pods", want), func() (bool, string, error) {
		l, err := w.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return false, "", err
		}
		n := int64(len(l.Items))
		if l.RemainingItemCount != nil {
			n += *l.RemainingItemCount
		}
		return n == want, fmt.Sprint(n, " pods"), nil
	})
}
