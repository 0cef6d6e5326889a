// Package native runs upstream's controllers, sync by sync, on a cluster in memory.
package native

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync/atomic"
	"testing/synctest"
	"time"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/reference"
	"k8s.io/client-go/util/workqueue"

	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/informers"
)

// Env is what one of upstream's controllers is made with.
type Env struct {
	Context   context.Context
	Config    *rest.Config
	Client    kubernetes.Interface
	Metadata  metadata.Interface
	Informers clientinformers.SharedInformerFactory
	// Pick returns one of the numbers below n, for a controller whose workers take turns at random.
	Pick func(n int) int
	// Served returns what the cluster's discovery says.
	Served func() ([]*metav1.APIResourceList, error)
}

// Made is a controller as its constructor has left it.
type Made struct {
	// Controller is the pointer that the constructor returned. Its fields queue and eventBroadcaster are found by their
	// types.
	Controller any
	// Process is its own processNextWorkItem, or what takes the next key from the queue and syncs it.
	Process func(context.Context) bool
	// Work does one thing of what there is to do and reports whether there was any, where a controller has no queue of
	// keys.
	Work func(context.Context) bool
	// End ends what such a controller has begun.
	End func()
	// Queue names the field of the queue whose keys are synced, where there are several; by default queue.
	Queue string
	// Feeds are queues that aren't our own and from which keys come, by their fields, each with what handles the next
	// of its items. What a change puts into them is handled at once.
	Feeds map[string]func(context.Context) bool
	// Every is after how long a controller that adds each key to its queue again, as if it had failed, syncs it again.
	Every time.Duration
	// Place puts our queue into that field, at its address, where the controller's keys are no strings; nil: they are.
	Place func(at unsafe.Pointer, q *Queue[string])
	// Note returns what is worth knowing of a key where the two differ; nil: nothing is.
	Note func(key string) string
	// Begin is told that the next thing has happened, for what Note may have to know; nil: it is nobody's business.
	Begin func()
}

// Native is one of upstream's controllers on a cluster.
type Native struct {
	Queue *Queue[string]
	// Events are those that the last sync has told of.
	Events []string
	// Handled are those that the handlers of the last change have told of.
	Handled []string

	made     *Made
	gatherer *gatherer // of the metrics that are compared
	// begun is what the metrics stood at when the controller was made: they are the process's.
	begun     Measures
	informers *informers.Set
	// others are the controller's other queues, whose keys a sync may wake.
	others  []*Queue[string]
	feeds   []feed
	cluster *api.Cluster
	cancel  context.CancelFunc
	ctx     context.Context
}

// feed is a queue from which keys come.
type feed struct {
	queue interface {
		Len() int
		ShutDown()
	}
	next func(context.Context) bool
}

// New makes a controller. It must be called in the bubble (testing/synctest) in which the controller is to live.
func New(c *api.Cluster, seed uint64, make func(*Env) (*Made, error)) (*Native, error) {
	n := &Native{cluster: c, Queue: NewQueue[string](), informers: informers.New()}
	n.ctx, n.cancel = context.WithCancel(withErrors(context.Background()))
	config := api.Late(func() *api.Cluster { return n.cluster }).Config("kube-controller-manager")
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	n.watchAll()
	served := func() ([]*metav1.APIResourceList, error) { return n.cluster.Served(), nil }
	if n.made, err = make(&Env{n.ctx, config, client, metadataClient, n.informers.Factory,
		rand.New(rand.NewPCG(seed, 5)).IntN, served}); err != nil {
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
	if n.made.Work != nil {
		return nil
	}
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
	if old, ok := f.Interface().(interface{ ShutDown() }); ok {
		old.ShutDown()
	}
	if n.made.Place != nil {
		n.made.Place(unsafe.Pointer(f.UnsafeAddr()), n.Queue)
	} else {
		f.Set(reflect.ValueOf(n.Queue))
	}

	listening := false
	for i := range v.NumField() {
		f := v.Field(i)
		if next, ok := n.made.Feeds[v.Type().Field(i).Name]; ok {
			q := feed{next: next}
			if q.queue, ok = Exposed(f).(interface {
				Len() int
				ShutDown()
			}); !ok {
				return fmt.Errorf("field %s of %T is no queue", v.Type().Field(i).Name, n.made.Controller)
			}
			n.feeds = append(n.feeds, q)
			continue
		}
		if f.Type() == reflect.TypeFor[workqueue.TypedRateLimitingInterface[string]]() && v.Type().Field(i).Name != name &&
			!f.IsNil() {
			f = reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
			f.Interface().(workqueue.TypedInterface[string]).ShutDown()
			q := NewQueue[string]()
			f.Set(reflect.ValueOf(q))
			n.others = append(n.others, q)
			continue
		}
		if other := v.Type().Field(i).Name; other != name && strings.HasSuffix(strings.ToLower(other), "queue") &&
			f.Kind() == reflect.Interface && !f.IsNil() {
			// Nobody takes keys from it, but it has goroutines.
			reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem().Interface().(interface{ ShutDown() }).ShutDown()
		}
		if f.Type() != reflect.TypeFor[record.EventBroadcaster]() || f.IsNil() {
			continue
		}
		b := reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem().Interface().(record.EventBroadcaster)
		b.StartEventWatcher(func(e *corev1.Event) {
			n.Events = append(n.Events, Told(e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name, e.Type,
				e.Reason, e.Message))
		})
		listening = true
	}
	if len(n.feeds) < len(n.made.Feeds) {
		return fmt.Errorf("%T lacks a field of %d", n.made.Controller, len(n.made.Feeds))
	}
	for i := range v.NumField() {
		if f := v.Field(i); f.Type() == reflect.TypeFor[record.EventRecorder]() && !listening {
			f = reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
			f.Set(reflect.ValueOf(recorder{n}))
		}
	}
	return nil
}

// recorder takes down the events of a controller that keeps its broadcaster to itself.
type recorder struct{ n *Native }

func (r recorder) Event(o runtime.Object, eventType, reason, message string) {
	ref, err := reference.GetReference(scheme.Scheme, o)
	if err != nil {
		return
	}
	r.n.Events = append(r.n.Events, Told(ref.Kind, ref.Namespace, ref.Name, eventType, reason, message))
}

func (r recorder) Eventf(o runtime.Object, eventType, reason, format string, args ...any) {
	r.Event(o, eventType, reason, fmt.Sprintf(format, args...))
}

func (r recorder) AnnotatedEventf(o runtime.Object, _ map[string]string, eventType, reason, format string,
	args ...any) {
	r.Eventf(o, eventType, reason, format, args...)
}

// Exposed returns the value of a field that its package keeps to itself.
func Exposed(f reflect.Value) any {
	return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem().Interface()
}

// Told is an event on a line.
func Told(kind, namespace, name, eventType, reason, message string) string {
	return fmt.Sprintf("event %s %s %s %s: %s", kind, strings.TrimPrefix(namespace+"/"+name, "/"), eventType, reason,
		message)
}

// Close ends the controller and all that it has started.
func (n *Native) Close() {
	n.cancel()
	if n.made != nil && n.made.End != nil {
		n.made.End()
	}
	for _, f := range n.feeds {
		f.queue.ShutDown()
	}
	synctest.Wait()
}

// On has the controller work on a cluster from now on.
func (n *Native) On(c *api.Cluster) { n.cluster = c }

// Show shows the controller a change, and returns the keys that it wakes; Queue.After says which of them only later,
// and Handled what the handlers have told of.
func (n *Native) Show(c *api.Change, initial bool) ([]string, error) {
	n.Queue.Empty()
	n.Events = nil
	o := c.New
	if o == nil {
		o = c.Old
	}

	i := n.informers.Of(bare(o))
	old, err := received(c.Old)
	if err != nil {
		return nil, err
	}

	now, err := received(c.New)
	if err != nil {
		return nil, err
	}

	switch {
	case old == nil:
		err = i.Add(now, initial)
	case now == nil:
		err = i.Delete(old)
	default:
		err = i.Update(old, now)
	}

	i.GetStore().Bookmark(fmt.Sprint(c.Version))
	synctest.Wait()
	for _, f := range n.feeds {
		for f.queue.Len() > 0 {
			f.next(n.ctx)
		}
	}
	n.Handled = n.Events
	return n.Queue.Woken, err
}

// received returns an object as it comes over the wire: upstream's hashes see how a quantity was made.
func received(o runtime.Object) (runtime.Object, error) {
	m, ok := o.(interface{ Marshal() ([]byte, error) })
	if !ok {
		return o, nil
	}
	b, err := m.Marshal()
	if err != nil {
		return nil, err
	}
	out := bare(o)
	return out, out.(interface{ Unmarshal([]byte) error }).Unmarshal(b)
}

// bare returns an empty object of the same type.
func bare(o runtime.Object) runtime.Object {
	return reflect.New(reflect.TypeOf(o).Elem()).Interface().(runtime.Object)
}

// Reached says up to which version all caches are current.
func (n *Native) Reached(version uint64) { n.informers.Bookmark(fmt.Sprint(version)) }

// Works reports whether the controller finds its work by itself.
func (n *Native) Works() bool { return n.made.Work != nil }

// Work has such a controller do one thing, and reports whether there was any to do.
func (n *Native) Work() bool {
	did := n.made.Work(n.ctx)
	synctest.Wait()
	return did
}

// Note returns what is worth knowing of keys.
func (n *Native) Note(keys []string) (text string) {
	if n.made.Note == nil {
		return ""
	}
	for _, key := range keys {
		if s := n.made.Note(key); s != "" {
			text += "\n" + s
		}
	}
	return text
}

// Begin says that the next thing has happened.
func (n *Native) Begin() {
	if n.made.Begin != nil {
		n.made.Begin()
	}
}

// lastError is the last one that one of upstream's controllers has handed to its process's handlers.
var lastError atomic.Pointer[error]

func init() {
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{
		func(_ context.Context, err error, _ string, _ ...any) { note(err) },
	}
}

// process has the controller process the key that its queue hands out, and returns what it panics with.
func (n *Native) process() (panicked any) {
	defer func() { panicked = recover() }()
	n.made.Process(n.ctx)
	return nil
}

// Result is what a sync came to.
type Result struct {
	Failed bool
	Err    error         // why, where that is known
	Again  time.Duration // 0: not by itself
	Events []string
	Woken  []string // keys of the controller's other queues
	// Panic is what upstream's code has panicked with, nil if it hasn't. Its manager would have ended.
	Panic any
}

// Sync syncs a key.
func (n *Native) Sync(key string) Result {
	n.Queue.Empty()
	n.Events = nil
	for _, q := range n.others {
		q.Empty()
	}
	lastError.Store(nil)
	n.Queue.Hand(key)
	if p := n.process(); p != nil {
		return Result{Panic: p}
	}
	synctest.Wait()
	r := Result{Failed: n.Queue.Limited[key], Again: n.Queue.After[key], Events: n.Events}
	if err := lastError.Load(); r.Failed && err != nil {
		r.Err = *err
	}
	for _, q := range n.others {
		r.Woken = append(r.Woken, q.Woken...)
	}
	if r.Failed && n.made.Every > 0 {
		r.Failed, r.Again = false, n.made.Every
	}
	return r
}
