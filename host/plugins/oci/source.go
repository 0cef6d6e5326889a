package oci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/plugins/signature"
)

// How long to wait after an attempt that failed: twice as long after each.
const (
	retryFirst = 2 * time.Second
	retryMax   = 5 * time.Minute
)

// parallel is how many images are got at once, which bounds the memory that it takes.
const parallel = 4

// Source has the plugins that have an image in the configuration. It never waits for a registry: what the cache doesn't
// have is got behind its back, and Changed tells when it is there. An image that can't be had is tried again, less and
// less often.
type Source struct {
	ctx     context.Context
	read    func(context.Context, *plugins.Plugin) (name string, err error)
	changed chan struct{}
	slots   chan struct{}

	mu     sync.Mutex
	images []*wanted
}

// NewSource makes a source without images, whose attempts end with ctx. read gives the name in a module's manifest.
func NewSource(ctx context.Context, read func(context.Context, *plugins.Plugin) (name string, err error)) *Source {
	return &Source{ctx: ctx, read: read, changed: make(chan struct{}, 1), slots: make(chan struct{}, parallel)}
}

// wanted is a plugin's image.
type wanted struct {
	name, id string // what it was made from
	image    Image
	options  Options
	folder   string
	stop     context.CancelFunc
	again    chan struct{}

	plugin *plugins.Plugin // once it is there; guarded by the source's lock, as the error of the last attempt
	err    error
}

// Changed reports that an image has come, or that another one can't be had.
func (s *Source) Changed() <-chan struct{} { return s.changed }

// Configure makes the source's images those of the configuration. It returns with those that the cache has; of the
// others the getting has begun.
func (s *Source) Configure(k *config.Configuration) error {
	var next []*wanted
	var errs []error
	for i := range k.Plugins {
		if k.Plugins[i].Image == "" {
			continue
		}
		w, err := readWanted(k, k.Plugin(k.Plugins[i].Name))
		if err != nil {
			errs = append(errs, fmt.Errorf("plugins[%d]: %w", i, err))
			continue
		}
		next = append(next, w)
	}

	if err := errors.Join(errs...); err != nil {
		return err
	}
	s.mu.Lock()

	before := s.images
	for i, w := range next {
		for _, old := range before {
			if old.id == w.id {
				next[i] = old
			}
		}
	}

	s.images = next
	s.mu.Unlock()
	kept := map[*wanted]bool{}
	for _, w := range next {
		kept[w] = true
	}

	for _, w := range before {
		if !kept[w] {
			w.stop()
		}
	}

	for _, w := range next {
		if w.stop == nil {
			s.beginImage(w)
		}
	}
	return nil
}

// readWanted reads what a plugin's image needs: when any of it changes, it is another one.
func readWanted(k *config.Configuration, p config.Plugin) (*wanted, error) {
	r, err := Parse(p.Image)
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	keys, err := signature.ReadKeys(p.VerificationKeys...)
	if err != nil {
		return nil, fmt.Errorf("verificationKeys: %w", err)
	}
	var sums []string
	for _, f := range p.VerificationKeys {
		b, err := os.ReadFile(f) // the size was bounded just now
		if err != nil {
			return nil, fmt.Errorf("verificationKeys: %w", err)
		}
		sums = append(sums, digestOf(b))
	}
	id, err := json.Marshal([]any{p.Name, p.Image, sums, k.Registries})
	if err != nil {
		return nil, err
	}
	return &wanted{
		name: p.Name, id: string(id), image: Image{r, keys}, options: OptionsOf(k), folder: k.Registries.CacheFolder,
		again: make(chan struct{}, 1),
	}, nil
}

// OptionsOf returns what the configuration says of registries.
func OptionsOf(k *config.Configuration) Options {
	r := k.Registries
	return Options{Credentials: r.CredentialsFile, CAFile: r.CAFile, PlainHTTP: r.PlainHTTP, Timeout: r.Timeout.Duration}
}

// CacheOf opens the configured cache, or the one in the user's cache folder.
func CacheOf(k *config.Configuration) (*Cache, error) {
	folder := k.Registries.CacheFolder
	if folder == "" {
		users, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("cache of modules: %w: name a folder in registries.cacheFolder", err)
		}
		folder = filepath.Join(users, "windlass", "modules")
	}
	return OpenCache(folder)
}

// beginImage takes the image from the cache, or begins to get it.
func (s *Source) beginImage(w *wanted) {
	ctx, stop := context.WithCancel(s.ctx)
	w.stop = stop
	cache, err := CacheOf(&config.Configuration{Registries: config.Registries{CacheFolder: w.folder}})
	if err != nil {
		klog.ErrorS(err, "Can't cache modules from registries: each start has to pull them again", "plugin", w.name)
	}
	if m := cache.cachedModule(w.image.Reference, w.image.Keys); m != nil {
		s.acceptModule(ctx, w, m)
		return
	}
	go s.pullUntilDone(ctx, w, cache)
}

// acceptModule takes a module whose bytes are sound; false if it isn't what the configuration says.
func (s *Source) acceptModule(ctx context.Context, w *wanted, m *Module) bool {
	p := m.Plugin(w.name)
	name, err := s.read(ctx, p)
	if err == nil && name != w.name {
		err = newFinalError(w.image.Reference, "holds the plugin %q: write plugins[].name: %s, or name another image", name,
			name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		w.err = err
		return false
	}
	w.plugin, w.err = p, nil
	return true
}

// pullUntilDone asks the registry until the module is there, or can't ever be.
func (s *Source) pullUntilDone(ctx context.Context, w *wanted, cache *Cache) {
	wait := retryFirst
	for {
		last, err := s.attempt(ctx, w, cache)
		if ctx.Err() != nil {
			return
		}
		s.notifyChanged()
		if err == nil || last {
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
			wait = min(2*wait, retryMax)
		case <-w.again:
			wait = retryFirst
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

func (s *Source) attempt(ctx context.Context, w *wanted, cache *Cache) (isFinal bool, err error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return false, ctx.Err()
	}

	client, err := New(w.options)
	var m *Module
	if err == nil {
		defer client.Close()
		var unkept error
		m, unkept, err = client.Get(ctx, w.image, cache)
		if unkept != nil {
			klog.ErrorS(unkept, "Can't cache a module: the next start has to pull it again", "plugin", w.name)
		}
	}

	if err != nil {
		s.mu.Lock()
		w.err = err
		s.mu.Unlock()
		refused := (*Error)(nil)
		return errors.As(err, &refused) && refused.Final, err
	}
	if !s.acceptModule(ctx, w, m) {
		return true, errors.New("the image doesn't hold the configured plugin")
	}

	klog.InfoS("Pulled plugin from its registry", "plugin", w.name, "image", w.image.Reference.String(), "bytes",
		len(m.Wasm), "verified", len(w.image.Keys) > 0)
	return true, nil
}

func (s *Source) notifyChanged() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Retry has all images that aren't there tried again at once.
func (s *Source) Retry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.images {
		select {
		case w.again <- struct{}{}:
		default:
		}
	}
}

// Wait waits until of each image it is known whether it can be had.
func (s *Source) Wait(ctx context.Context) []State {
	for {
		all := s.Images()
		if !slices.ContainsFunc(all, func(i State) bool { return i.Plugin == nil && i.Err == nil }) {
			return all
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			return all
		}
	}
}

// State is what is known of a plugin's image.
type State struct {
	Name string
	// Plugin is nil as long as the image isn't there.
	Plugin *plugins.Plugin
	// Err is why it isn't, once that is known.
	Err error
}

// Images returns the plugins that have an image, in the order of the configuration.
func (s *Source) Images() (all []State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.images {
		all = append(all, State{w.name, w.plugin, w.err})
	}
	return all
}
