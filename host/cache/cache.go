package cache

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/connections"
	"github.com/windlass-dev/windlass/host/schema"
	"k8s.io/client-go/rest"
)

// Options says how a Cache reads.
type Options struct {
	// Config is the manager's own identity. Its rate limits don't apply: there is one list or stream per resource.
	Config *rest.Config
}

// Cache holds one informer per resource that somebody reads. It is safe for concurrent use.
type Cache struct {
	config *rest.Config
	http   *http.Client
	told   atomic.Int64 // when handlers were told of an event last, in nanoseconds

	gone *Recent[string] // the UIDs of objects that were deleted lately

	mu        sync.Mutex
	ctx       context.Context // nil before Start
	resources map[abi.Resource]*resource
	learned   map[abi.Resource]*schema.Resource
}

// New makes a cache that reads nothing yet.
func New(o Options) (*Cache, error) {
	if o.Config == nil {
		return nil, errors.New("cache: no client configuration")
	}
	config := rest.CopyConfig(o.Config)
	config.Timeout = 0 // would end streams
	config.QPS = -1
	x := &Cache{config: config, resources: map[abi.Resource]*resource{}, learned: map[abi.Resource]*schema.Resource{},
		gone: NewRecent[string](goneMax)}
	dialing(config, &x.told)
	config.Wrap(connections.Share())
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	x.http = client
	return x, nil
}

// Learn takes in the kind and scope of a resource that isn't built in, as the API server serves it. It may be
// declared before that, and be served only later.
func (c *Cache) Learn(s *schema.Resource) error {
	c.mu.Lock()
	c.learned[s.Resource] = s
	r, started := c.resources[s.Resource], c.ctx
	c.mu.Unlock()
	if r == nil {
		return nil
	}
	if err := r.learnSchema(s, started); err != nil {
		return fmt.Errorf("cache: %s: %w", s.Resource, err)
	}
	return nil
}

// Declare says that a controller reads a resource, and what it wants kept. The informer runs while there are readers,
// from Start on.
//
// An object is stored if some reader keeps it, with what those readers want of it that do, and with what all filters
// read. One that begins or ceases to be kept by an update comes and goes by an [Event] that says so.
//
// A reader whose want isn't covered by what is kept already gets a second informer, which takes over from the first
// once it is as current. Until then [Cache.Wait] waits, and handlers that are added hear nothing; then they are told of
// all objects, and those that were there before of what differs for them.
func (c *Cache) Declare(name abi.Resource, w Want) (*Reader, error) {
	r, err := c.resource(name)
	if err != nil {
		return nil, err
	}
	mask := w.Mask
	if mask == nil {
		mask = r.message.Whole()
	}
	if mask.Message() != r.message {
		return nil, fmt.Errorf("cache: %s: the mask is for %s", name, mask.Message().Name)
	}
	if f := w.Filter; f != nil && (f.Name == "" || f.Keep == nil || f.Reads == nil || f.Reads.Message() != r.message) {
		return nil, fmt.Errorf("cache: %s: filter %q: name, function and what it reads must be set, for %s", name, f.Name,
			r.message.Name)
	}
	if err := r.store.AddIndexers(w.Indexers); err != nil {
		return nil, err
	}
	x := newReader(r, mask, w)
	if err := r.declare(x, c.started()); err != nil {
		return nil, fmt.Errorf("cache: %s: %w", name, err)
	}
	return x, nil
}

// Supersede notifies the handlers of a resource, which isn't to be read any more, of the objects that another version
// of it doesn't have, whose store is current: they are gone.
func (c *Cache) Supersede(old, by abi.Resource) error {
	store := c.Store(by)
	if store == nil {
		return fmt.Errorf("cache: there is no resource %s", by)
	}
	return c.endResource(old, store)
}

// End notifies the handlers of a resource, whose definition is gone, that all its objects are.
func (c *Cache) End(name abi.Resource) error { return c.endResource(name, nil) }

func (c *Cache) endResource(name abi.Resource, by *Store) error {
	r, err := c.resource(name)
	if err == nil {
		r.emitGone(by)
	}
	return err
}

// Start starts the informers of the resources that were declared; those declared later start at once. They stop when
// the context ends, and so do the handlers.
func (c *Cache) Start(ctx context.Context) error {
	c.mu.Lock()
	if c.ctx != nil {
		c.mu.Unlock()
		return errors.New("cache: started twice")
	}
	c.ctx = ctx
	c.mu.Unlock()
	context.AfterFunc(ctx, func() {
		for _, r := range c.allResources() {
			r.stopHandlers()
		}
	})
	for _, r := range c.allResources() {
		if err := r.start(ctx); err != nil {
			return fmt.Errorf("cache: %s: %w", r.name, err)
		}
	}
	return nil
}

// Store returns the store of a resource, an empty one if nobody has declared it, nil if there can't be such a resource.
// A resource's store stays the same for ever.
func (c *Cache) Store(name abi.Resource) *Store {
	r, err := c.resource(name)
	if err != nil {
		return nil
	}
	return r.store
}

// Wait waits until the stores have all objects, with all that was declared of them. It needs the context to end for a
// resource that isn't served or allowed; the error says which.
func (c *Cache) Wait(ctx context.Context, names ...abi.Resource) error {
	var errs []error
	for _, name := range names {
		r, err := c.resource(name)
		if err == nil {
			err = r.waitForSync(ctx)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Handle notifies a handler of the resource's events, beginning with all objects that are there. After remove the
// handler hears at most the event that it is being told of.
func (c *Cache) Handle(name abi.Resource, h Handler) (remove func(), err error) {
	r, err := c.resource(name)
	if err != nil {
		return nil, err
	}
	return r.addHandler(h), nil
}

// Progress calls f after every change of the resource's store, bookmarks and updates without an event included. It is
// called by the informer: f must be quick; it may read stores.
func (c *Cache) Progress(name abi.Resource, f func()) (remove func(), err error) {
	r, err := c.resource(name)
	if err != nil {
		return nil, err
	}
	return r.onProgress(f), nil
}

// ResourceStatus is how the informer of a resource is doing.
type ResourceStatus struct {
	Resource abi.Resource
	// Synced tells that the store has all objects, with all that was declared of them.
	Synced  bool
	Objects int
	// Bytes is what is kept of the objects, indexes and names aside.
	Bytes int64
	// Waiting is how many events wait for handlers.
	Waiting int64
	// Version is the resource version up to which the store is current.
	Version string
	// Err is why the resource can't be read at the moment, nil if it can.
	Err error
}

// Status returns the status of each resource that has readers, sorted by name.
func (c *Cache) Status() []ResourceStatus {
	var all []ResourceStatus
	for _, r := range c.allResources() {
		if s, ok := r.status(); ok {
			all = append(all, s)
		}
	}
	return all
}

func (c *Cache) started() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ctx
}

func (c *Cache) allResources() []*resource {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*resource, 0, len(c.resources))
	for _, r := range c.resources {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *resource) int { return strings.Compare(a.id, b.id) })
	return all
}

func (c *Cache) resource(name abi.Resource) (*resource, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.resources[name]; r != nil {
		return r, nil
	}
	s := c.learned[name]
	if s == nil {
		var err error
		if s, err = schema.Named(name); err != nil {
			return nil, fmt.Errorf("cache: %w", err)
		}
	}
	r := newResource(s, c.listerWatcher)
	r.told = &c.told
	r.lost, r.forget = c.rememberGone, c.gone.Clear
	c.resources[name] = r
	return r, nil
}
