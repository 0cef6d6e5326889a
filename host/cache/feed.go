package cache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// feed is one reflector, with the contents that it fills. Its fields are guarded by the resource's mu.
type feed struct {
	resource  *resource
	selection *selection
	decoder   *decoder
	contents  *contents
	source    clientcache.ListerWatcher
	cancel    context.CancelFunc
	synced    bool
	dead      bool        // whatever still comes is ignored
	live      atomic.Bool // the initial objects are there, and what a stream brings is what came after them
	unserved  atomic.Bool // the API server doesn't know the resource, as of the last request
}

func newFeed(r *resource, s *selection, contents *contents) (*feed, error) {
	d, err := newDecoder(r.schema, s)
	if err != nil {
		return nil, err
	}

	d.known = contents.get
	f := &feed{resource: r, selection: s, decoder: d, contents: contents, cancel: func() {}}
	d.begin = f.beginRequest
	source, err := r.source(d)
	if err != nil {
		return nil, err
	}

	f.source = &clientcache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			f.live.Store(false)
			if o.ResourceVersion == "0" {
				// any version would do for client-go, but the first list must not be older than what was written before
				o.ResourceVersion = ""
			}
			l, err := clientcache.ToListerWatcherWithContext(source).ListWithContext(ctx, o)
			f.reportRequest(ctx, err)
			return l, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			f.live.Store(f.live.Load() && o.SendInitialEvents == nil)
			w, err := clientcache.ToListerWatcherWithContext(source).WatchWithContext(ctx, o)
			if o.SendInitialEvents == nil || !apierrors.IsInvalid(err) { // a server without WatchList is asked for a list next
				f.reportRequest(ctx, err)
			}
			return w, err
		},
	}

	return f, nil
}

// beginRequest is called before anything is decoded: initial objects are waited for, so reading doesn't pause.
func (f *feed) beginRequest() {
	if !f.live.Load() {
		f.resource.told.Store(time.Now().UnixNano())
	}
}

// reportRequest reports how a request went.
func (f *feed) reportRequest(ctx context.Context, err error) {
	f.unserved.Store(apierrors.IsNotFound(err))
	if ctx.Err() == nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		f.resource.reportError(f, err)
	}
}

func (f *feed) start(ctx context.Context) {
	ctx, f.cancel = context.WithCancel(ctx)
	go f.run(ctx)
}

// stop ends the feed; a nil feed has ended.
func (f *feed) stop() {
	if f != nil {
		f.dead = true
		f.cancel()
	}
}

// healthy is how long a stream has to last to forget earlier failures.
const healthy = 2 * time.Minute

// soon is after how long a resource is asked for again at the latest that isn't served: who has made its definition
// waits for its controller.
const soon = 2 * time.Second

// run lists and watches until the context ends, with the pauses of client-go's informers after a failure.
func (f *feed) run(ctx context.Context) {
	name := f.resource.name.String()
	reflector := clientcache.NewReflectorWithOptions(f.source, &Object{}, f,
		clientcache.ReflectorOptions{Name: name, TypeDescription: name})
	fresh := wait.Backoff{Duration: 800 * time.Millisecond, Factor: 2, Jitter: 1, Cap: 30 * time.Second, Steps: 100}
	backoff := fresh
	for {
		started := time.Now()
		if err := reflector.ListAndWatchWithContext(ctx); err != nil && ctx.Err() == nil {
			klog.V(2).InfoS("Watch ended", "resource", name, "err", err)
		}
		if time.Since(started) > healthy {
			backoff = fresh
		}
		pause := backoff.Step()
		if f.unserved.Load() {
			pause = min(pause, soon+rand.N(soon/4))
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// changeContents runs one change of the contents, then what follows from it.
func (f *feed) changeContents(do func(own bool)) {
	for _, p := range f.changeLocked(do) {
		(*p)()
	}
}

// changeLocked runs one change of the contents, and returns what is to be called after it without the lock.
func (f *feed) changeLocked(do func(own bool)) (progress []*func()) {
	r := f.resource
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.dead {
		return nil
	}
	own := f == r.feed
	do(own)
	if !own {
		r.takeOver()
		own = f == r.feed
	}
	if !own {
		return nil
	}
	return r.progress
}

// Add is for the reflector: the object is new.
func (f *feed) Add(obj any) error { return f.set(obj, false) }

// Update is for the reflector: the object has been there before, kept or not.
func (f *feed) Update(obj any) error { return f.set(obj, f.decoder.dropsObjects()) }

func (f *feed) set(obj any, moved bool) error {
	o, err := requireName(obj)
	if err != nil {
		return err
	}
	f.changeContents(func(own bool) {
		old := f.contents.set(o)
		if own {
			f.resource.replaced(old, o, false, moved)
		}
	})
	return nil
}

// Delete is for the reflector.
func (f *feed) Delete(obj any) error {
	o, err := requireName(obj)
	if err != nil {
		return err
	}
	f.changeContents(func(own bool) {
		old := f.contents.remove(o)
		if own {
			f.resource.replaced(old, nil, false, false)
		}
	})
	return nil
}

// Replace is for the reflector: the objects are all there are.
func (f *feed) Replace(list []any, version string) error {
	objects := make([]*Object, 0, len(list))
	others := map[digest]*Object{} // that aren't kept
	for _, obj := range list {
		o, err := requireName(obj)
		if err != nil {
			return err
		}
		if o.isWanted() {
			objects = append(objects, o)
		} else {
			others[objectDigest(o)] = o
		}
	}

	f.changeContents(func(own bool) {
		initial := !f.synced
		f.synced = true
		if wentBack(f.contents.version, version) && f.resource.forget != nil {
			f.resource.forget()
		}
		gone, before := f.contents.replace(objects, version)
		if !own {
			return
		}
		for _, o := range gone {
			f.resource.replaced(o, others[objectDigest(o)], false, false)
		}
		for i, o := range objects {
			f.resource.replaced(before[i], o, initial, f.decoder.dropsObjects())
		}
		for x := range f.resource.readers {
			x.expired = false
		}
		f.resource.updateReaders()
		f.resource.wakeWaiting()
	})

	f.live.Store(true)
	return nil
}

// Bookmark is for the reflector: nothing else happened up to the version.
func (f *feed) Bookmark(version string) error {
	f.changeContents(func(bool) { f.contents.bookmark(version) })
	return nil
}

// Resync is for the reflector, which is told never to.
func (f *feed) Resync() error { return nil }

func requireName(obj any) (*Object, error) {
	o, ok := obj.(*Object)
	if !ok {
		return nil, fmt.Errorf("cache: got a %T", obj)
	}
	if o.Name == "" {
		return nil, errNoName
	}
	return o, nil
}

// listerWatcher returns what lists and watches a resource on the API server.
func (c *Cache) listerWatcher(d *decoder) (clientcache.ListerWatcher, error) {
	config := rest.CopyConfig(c.config)
	r := d.resource
	gv := kschema.GroupVersion{Group: r.Group, Version: r.Version}
	config.GroupVersion = &gv
	config.APIPath = "/apis"
	if r.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = negotiator{d}
	config.ContentType, config.AcceptContentTypes = d.mediaType(), d.mediaType()
	client, err := rest.RESTClientForConfigAndClient(config, c.http)
	if err != nil {
		return nil, err
	}

	get := func(o *metav1.ListOptions, partial string) *rest.Request {
		q := client.Get().Resource(r.Name).SpecificallyVersionedParams(o, scheme.ParameterCodec,
			kschema.GroupVersion{Version: "v1"})
		if d.partial {
			q.SetHeader("Accept", protobufType+";as="+partial+";g=meta.k8s.io;v=v1,"+jsonType)
		}
		return q
	}

	return &clientcache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			l := &List{}
			return l, get(&o, "PartialObjectMetadataList").Do(ctx).Into(l)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.Watch = true
			return get(&o, "PartialObjectMetadata").Watch(ctx)
		},
	}, nil
}

// wentBack reports whether a collection's version has become an older one: etcd was restored from a backup.
func wentBack(before, now string) bool {
	c, err := resourceversion.CompareResourceVersion(now, before)
	return err == nil && c < 0
}
