// Package native runs upstream's controllers, sync by sync, on a cluster in memory.
package native

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing/synctest"
	"time"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"

	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/informers"
)

// Env is what one of upstream's controllers is made with.
type Env struct {
	Context   context.Context
	Config    *rest.Config
	Client    kubernetes.Interface
	Informers clientinformers.SharedInformerFactory
}

// Made is a controller as its constructor has left it.
type Made struct {
	// Controller is the pointer that the constructor returned. Its fields queue and eventBroadcaster are found by their types.
	Controller any
	// Process is its own processNextWorkItem, or what takes the next key from the queue and syncs it.
	Process func(context.Context) bool
	// Queue names the field of the queue whose keys are synced, where there are several; by default queue.
	Queue string
	// Aside are the controller's other queues, by their fields, each with what handles the next of its items. What a change
	// puts into them is handled at once: it wakes keys.
	Aside map[string]func(context.Context) bool
}

// Native is one of upstream's controllers on a cluster.
type Native struct {
	Queue *Queue[string]
	// Events are those that the last sync has told of.
	Events []string

	made      *Made
	informers *informers.Set
	cluster   *api.Cluster
	cancel    context.CancelFunc
	ctx       context.Context
	aside     []aside
}

// aside is one of the controller's queues that no key is synced from.
type aside struct {
	queue interface {
		Len() int
		ShutDown()
	}
	next func(context.Context) bool
}

// New makes a controller. It must be called in the bubble (testing/synctest) in which the controller is to live.
func New(make func(*Env) (*Made, error)) (*Native, error) {
	n := &Native{Queue: NewQueue[string](), informers: informers.New()}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	config := api.Late(func() *api.Cluster { return n.cluster }).Config("kube-controller-manager")
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	n.watchAll()
	if n.made, err = make(&Env{n.ctx, config, client, n.informers.Factory}); err != nil {
		return nil, err
	}
	return n, n.take()
}

// watchAll has the factory hand out our informers for all kinds that a cluster in memory serves.
func (n *Native) watchAll() {
	for _, gvk := range api.Kinds() {
		if o, err := scheme.Scheme.New(gvk); err == nil {
			n.informers.Of(o)
		}
	}
}

// take puts our queue in the place of the controller's, and listens to its events.
func (n *Native) take() error {
	v := reflect.ValueOf(n.made.Controller).Elem()
	name := n.made.Queue
	if name == "" {
		name = "queue"
	}
	f := v.FieldByName(name)
	if !f.IsValid() {
		return fmt.Errorf("%T has no field %s", n.made.Controller, name)
	}
	f = reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
	if old, ok := f.Interface().(workqueue.TypedInterface[string]); ok {
		old.ShutDown()
	}
	f.Set(reflect.ValueOf(n.Queue))
	for name, next := range n.made.Aside {
		f := v.FieldByName(name)
		if !f.IsValid() {
			return fmt.Errorf("%T has no field %s", n.made.Controller, name)
		}
		a := aside{next: next}
		var ok bool
		f = reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
		if a.queue, ok = f.Interface().(interface {
			Len() int
			ShutDown()
		}); !ok {
			return fmt.Errorf("field %s of %T is no queue", name, n.made.Controller)
		}
		n.aside = append(n.aside, a)
	}

	for i := range v.NumField() {
		f := v.Field(i)
		if f.Type() != reflect.TypeFor[record.EventBroadcaster]() || f.IsNil() {
			continue
		}
		b := reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem().Interface().(record.EventBroadcaster)
		b.StartEventWatcher(func(e *corev1.Event) {
			n.Events = append(n.Events, Told(e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name, e.Type, e.Reason, e.Message))
		})
	}
	return nil
}

// Told is an event on a line.
func Told(kind, namespace, name, eventType, reason, message string) string {
	return fmt.Sprintf("event %s %s %s %s: %s", kind, strings.TrimPrefix(namespace+"/"+name, "/"), eventType, reason, message)
}

// Close ends the controller and all that it has started.
func (n *Native) Close() {
	n.cancel()
	for _, a := range n.aside {
		a.queue.ShutDown()
	}
	synctest.Wait()
}

// On has the controller work on a cluster from now on.
func (n *Native) On(c *api.Cluster) { n.cluster = c }

// Show shows the controller a change, and returns the keys that it wakes.
func (n *Native) Show(c *api.Change, initial bool) ([]string, error) {
	n.Queue.Empty()
	o := c.New
	if o == nil {
		o = c.Old
	}
	i := n.informers.Of(bare(o))
	var err error
	switch {
	case c.Old == nil:
		err = i.Add(c.New, initial)
	case c.New == nil:
		err = i.Delete(c.Old)
	default:
		err = i.Update(c.Old, c.New)
	}
	i.GetStore().Bookmark(fmt.Sprint(c.Version))
	synctest.Wait()
	for _, a := range n.aside {
		for a.queue.Len() > 0 {
			a.next(n.ctx)
		}
	}
	return n.Queue.Woken, err
}

// bare returns an empty object of the same type.
func bare(o runtime.Object) runtime.Object {
	return reflect.New(reflect.TypeOf(o).Elem()).Interface().(runtime.Object)
}

// Reached says up to which version all caches are current.
func (n *Native) Reached(version uint64) { n.informers.Bookmark(fmt.Sprint(version)) }

// Result is what a sync came to.
type Result struct {
	Failed bool
	Err    error         // why, where that is known
	Again  time.Duration // 0: not by itself
	Events []string
}

// Sync syncs a key.
func (n *Native) Sync(key string) Result {
	n.Queue.Empty()
	n.Events = nil
	n.Queue.Hand(key)
	n.made.Process(n.ctx)
	synctest.Wait()
	return Result{Failed: n.Queue.Limited[key], Again: n.Queue.After[key], Events: n.Events}
}
