package effects

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/budget"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/effects/apiserver"
	"github.com/windlass-dev/windlass/host/effects/barrier"
	"github.com/windlass-dev/windlass/host/grant"
	"github.com/windlass-dev/windlass/host/schema"
)

// Options are what a Writer is made of.
type Options struct {
	Plugin     string
	Controller *abi.Controller
	// Config is the identity and user agent that the controller writes under.
	Config *rest.Config
	// Reader is the identity of the host's own reads (what became of a lost answer, what a slow cache should show): list
	// on the written resources is enough. By default Config.
	Reader *rest.Config
	// FieldManager overrides the field manager that the server derives from the user agent. What is applied has the
	// controller's name for its field manager, whatever this says.
	FieldManager string
	// Requests bounds the controller's requests, Events those that send its events; nil: no bound. They outlive the
	// Writer, so that no version of a plugin has a burst of its own.
	Requests, Events flowcontrol.RateLimiter
	// Timeout is how long one request may take, on the server too; by default 34 s, which is as long as the API server
	// takes for a write of one object.
	Timeout time.Duration
	// Again is how long after its beginning a sync sends requests again that have no definite answer; by default 30 s.
	Again time.Duration
	// Parallel bounds how many members of a group are in flight; by default 256, which is as many as upstream's slow start
	// has in flight of a burst of 500. With fewer a busy API server serves the scheduler and the kubelets in their place.
	Parallel int

	// After is the Writer of the version that this one is to take over from: what it wrote is waited for, its facts stay.
	After *Writer
	// Seen returns what the controller's views read of a resource, nil where none reads it: views.Plan has it. Answers
	// show a controller no more of an object. Without it they are whole.
	Seen func(abi.Resource) *schema.Mask
	// Stores finds the store of a resource that a view reads, nil where nothing watches it.
	Stores func(abi.Resource) Store
	// Discovery knows which resources the API server serves. Without it the controller has the built-in ones alone.
	Discovery Discovery
	// Gone reports whether an object's deletion has been seen; nil: of none.
	Gone func(uid string) bool
	// Recorder takes events; by default one of the Writer's own with upstream's aggregation and spam filter.
	Recorder record.EventRecorder
	// Wake wakes a key of a controller of the same module, because a sync of the key from asks for that; without it wake
	// effects are refused.
	Wake func(from abi.KeyRef, controller int32, key abi.KeyRef)
	// Grant narrows the manifest's rights to what the operator allows; nil allows them all.
	Grant *grant.Grant
	// Signer signs for the controller; nil: it may have nothing signed.
	Signer Signer
	// Deletes is what the plugin may delete in a minute; nil has no bound.
	Deletes *budget.Deletes
	// Memory is what the plugin's facts and the objects that it reads live are held on; nil has no bound.
	Memory *budget.Memory
	// Lease waits until a write may be sent, and reports how long from then on it may take; its error is that none may be
	// sent any more. Nil: no bound.
	Lease func(ctx context.Context) (time.Duration, error)
	// Outlast marks a write as one that may take longer than Lease has said; nil: none may.
	Outlast func(ctx context.Context) context.Context
	// Client makes the client of a configuration, for all but the host's own reads; by default rest.HTTPClientFor.
	Client  func(*rest.Config) (*http.Client, error)
	Metrics Metrics
	// Wrote is told of each write that was done, by which key's sync.
	Wrote func(key abi.KeyRef, w Write)

	// StaleWait bounds how long a key waits for the cache after a conflict; by default 1 s.
	StaleWait time.Duration
	// LiveCheck is after how long a waiting key is compared with the server; by default 10 s.
	LiveCheck time.Duration
}

// Discovery tells what the API server serves; *discovery.Client is one. An error with a method Reason has that reason
// in the outcome.
type Discovery interface {
	// All lists all resources in their preferred versions, live.
	All(ctx context.Context) (*abi.Discovery, error)
	// Kind returns the resource of a kind.
	Kind(ctx context.Context, apiVersion, kind string) (abi.APIResource, error)
	// Resource returns a resource with its kind and scope.
	Resource(ctx context.Context, r abi.Resource) (*schema.Resource, error)
}

// Store is what a Writer asks of a resource's cache.
type Store = barrier.Store

// Snapshot is what a sync saw.
type Snapshot interface {
	// Find returns an object in the views that were delivered to the guest, nil when it isn't in any.
	Find(resource abi.Resource, namespace, name string) *cache.Object
	// KeyObject returns the UID of the key's object, and whether it is in the key view.
	KeyObject() (uid string, exists bool)
	// Ask delivers a lazy view.
	Ask(a *abi.Ask) (abi.ViewData, error)
}

// Metrics are called, where set, with what a Writer counts.
type Metrics struct {
	// Write tells of one request that was answered or given up: its verb as RBAC has it and its code, 0 when there was no
	// answer.
	Write func(verb, resource, subresource string, code int, took time.Duration)
	// Refused tells of an answer that was refused as a whole.
	Refused func()
	// OverBudget tells of a sync that had to wait for the budget of deletes.
	OverBudget func()
	// Waited tells how long a parked key waited for the cache.
	Waited func(took time.Duration)
}

// Writer does the effects of one controller.
type Writer struct {
	Options
	log       klog.Logger
	client    apiserver.Client // the controller's identity
	reader    apiserver.Client // the host's
	rights    rights
	reads     map[abi.Resource]bool
	seen      seen
	resources resources
	teller    *teller // nil: the controller tells no events
	sight     *barrier.Sight
	*lasting

	revoked atomic.Bool // nothing more is sent
}

// lasting is what a controller has written and published, whichever version of its plugin did it.
type lasting struct {
	written *cache.Recent[version]
	own     *cache.Recent[step]
	wait    *barrier.Barriers
	news    freshness
	facts   facts

	denials   denials
	unsettled unsettled
	slow      slowWrites
}

// New makes a controller's Writer. Close ends it.
func New(o Options) (*Writer, error) {
	if o.Timeout <= 0 {
		o.Timeout = requestMax
	}
	if o.Again <= 0 {
		o.Again = 30 * time.Second
	}
	if o.Parallel <= 0 {
		o.Parallel = 256
	}

	if o.StaleWait <= 0 {
		o.StaleWait = time.Second
	}
	if o.LiveCheck <= 0 {
		o.LiveCheck = 10 * time.Second
	}

	if o.Reader == nil {
		o.Reader = o.Config
	}
	if o.Client == nil {
		o.Client = rest.HTTPClientFor
	}
	if o.Seen == nil {
		o.Seen = func(abi.Resource) *schema.Mask { return nil }
	}
	if o.Stores == nil {
		o.Stores = func(abi.Resource) Store { return nil }
	}

	w := &Writer{Options: o, reads: map[abi.Resource]bool{}, rights: rightsOf(o.Controller), seen: seen(o.Seen)}
	w.resources.custom = o.Discovery != nil
	w.log = klog.Background().WithValues("plugin", o.Plugin, "controller", o.Controller.Name)
	w.sight = &barrier.Sight{Store: w.watchedStore, Object: w.liveObject, Version: w.liveVersion, StaleWait: o.StaleWait,
		LiveCheck: o.LiveCheck, Timeout: o.Timeout, Waited: o.Metrics.Waited, Log: w.log}
	if o.After != nil {
		w.lasting, w.After = o.After.lasting, nil // else each version would keep all those before it
	} else {
		w.lasting = &lasting{written: cache.NewRecent[version](recentMax), own: cache.NewRecent[step](recentMax),
			wait: barrier.New(w.sight), facts: facts{memory: o.Memory}}
	}

	var err error
	if w.client, err = apiserver.NewClient(o.Config, o.Client, o.Requests); err != nil {
		return nil, fmt.Errorf("plugin %s: controller %s: client: %w", o.Plugin, o.Controller.Name, err)
	}

	if w.reader, err = apiserver.NewClient(o.Reader, rest.HTTPClientFor, nil); err != nil {
		return nil, fmt.Errorf("plugin %s: controller %s: client of the host: %w", o.Plugin, o.Controller.Name, err)
	}
	for _, v := range o.Controller.Views {
		w.reads[v.Resource] = true
	}

	switch {
	case o.Recorder != nil:
		w.teller = &teller{recorder: o.Recorder}
	case o.Controller.EventSource != "":
		if w.teller, err = newTeller(&o); err != nil {
			return nil, fmt.Errorf("plugin %s: controller %s: events: %w", o.Plugin, o.Controller.Name, err)
		}
	}
	return w, nil
}

// awaitRequest waits until the controller may send a request: one of the host's own, on a sync's behalf, is among them.
func (w *Writer) awaitRequest(ctx context.Context) error {
	if w.Requests == nil {
		return nil
	}
	if err := w.Requests.Wait(ctx); err != nil {
		return fmt.Errorf("the controller has no request left (api.qps): %w", err)
	}
	return nil
}

// Lead makes this Writer the one by whose views a key's writes are waited for: its version has taken over.
func (w *Writer) Lead() { w.wait.Lead(w.sight) }

// Revoke has no write be sent any more. One that the API server has got already may still be done.
func (w *Writer) Revoke() { w.revoked.Store(true) }

// Close ends the Writer's events, and the waiting for its writes unless another one has taken over.
func (w *Writer) Close() {
	if w.teller != nil {
		w.teller.close()
	}
	if w.wait.CloseOf(w.sight) {
		w.unsettled.clear()
	}
}

// Forget ends what a key has published, and what is known of its namespace, because its object is gone.
func (w *Writer) Forget(key abi.KeyRef) {
	_ = w.facts.publish(key, nil, nil) // which takes no memory
	w.denials.forget(key)
	w.unsettled.drop(key, func(*openWrite) bool { return true })
}

// Anew forgets what the controller's keys have written and published: another process may have gone on with them. What
// isn't settled stays: this process has sent it, whoever has led since, and it may still be done.
func (w *Writer) Anew() {
	w.facts.clear()
	w.wait.Clear()
}

// Ready reports whether the cache shows everything that the key's syncs have written.
func (w *Writer) Ready(key abi.KeyRef) bool { return w.wait.Ready(key) }

// Behind returns a resource of which the cache doesn't show yet what the key's syncs have written; none if it does.
func (w *Writer) Behind(key abi.KeyRef) abi.Resource { return w.wait.Behind(key) }

// Park calls wake once, when the key is ready: at once if it is already.
func (w *Writer) Park(key abi.KeyRef, wake func()) { w.wait.Park(key, wake) }

// Parked returns the keys that wait, the longest first: at most so many, and how many there are.
func (w *Writer) Parked(most int) (keys []barrier.Parked, all int) { return w.wait.Parked(most) }

// Progress looks at the keys and questions that wait for a resource; the cache calls it after each change of the
// resource's store, unchanged objects included, and not under the store's lock.
func (w *Writer) Progress(r abi.Resource) {
	w.news.notifyMoved(r)
	w.wait.Progress(r)
}
