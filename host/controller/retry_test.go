package controller

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/syncer"
	"github.com/windlass-dev/windlass/host/views"
)

// A key whose sync fails is tried again as often as its controller says; one success, and it has all its tries again.
func TestRetries(t *testing.T) {
	const retries = 2
	answers := []int{http.StatusUnprocessableEntity, http.StatusConflict, http.StatusUnprocessableEntity}
	c, asked := failing(t, retries, func(n int) int {
		return append(answers, http.StatusConflict)[min(n, len(answers))]
	})
	w, k := newWorker(c), Key{Name: "shop"}

	// The service account that a conflict tells of is there, which is all that the sync wants.
	c.Wake(k)
	for range 2 {
		w.syncNext(t.Context())
	}
	if n := c.queue.NumRequeues(k); *asked != 2 || n != 0 {
		t.Errorf("after a failure and a success: asked %d times, %d tries are remembered", *asked, n)
	}
	if _, all := c.Stuck(func(string) bool { return true }, 1); all != 0 {
		t.Error("a key that is done is stuck")
	}

	*asked, answers = 0, slices.Repeat([]int{http.StatusUnprocessableEntity}, 10*retries)
	c.Wake(k)
	var stuck []Stuck
	for *asked < 10*retries && (len(stuck) == 0 || stuck[0].State != GivenUp) {
		w.syncNext(t.Context())
		stuck, _ = c.Stuck(func(string) bool { return true }, 1)
	}
	if *asked != retries+1 || len(stuck) != 1 || stuck[0].Tries != retries+1 || !stuck[0].Next.IsZero() {
		t.Errorf("given up after %d tries instead of %d: %+v", *asked, retries+1, stuck)
	}
	if n := c.queue.NumRequeues(k); n != 0 {
		t.Errorf("%d tries of a key that was given up are remembered", n)
	}
}

// A key whose writes fail because the API server is away, too busy or broken isn't given up: nothing will happen to it
// when that ends.
func TestRetriesOutlastABrokenServer(t *testing.T) {
	const retries = 2
	c, asked := failing(t, retries, func(int) int { return http.StatusInternalServerError })
	w, k := newWorker(c), Key{Name: "shop"}
	c.Wake(k)
	for range 3 * retries {
		w.syncNext(t.Context())
		if stuck, n := c.Stuck(func(string) bool { return true }, 1); n != 1 || stuck[0].State != Failing {
			t.Fatalf("after %d requests %d keys are stuck: %+v", *asked, n, stuck)
		}
	}
	if *asked < 3*retries {
		t.Errorf("asked only %d times", *asked)
	}
}

// A new version is given the state that the one before has kept, unless it doesn't understand it.
func TestStateOfAFormerVersion(t *testing.T) {
	k := Key{Name: "k"}
	for _, x := range []struct {
		next int32 // the number of the new version's state
		want string
	}{{1, "state"}, {2, ""}} {
		version := func(state int32) *Version {
			m := &abi.Controller{Name: "c", State: true}
			writer, err := effects.New(effects.Options{Controller: m, Config: &rest.Config{}})
			if err != nil {
				t.Fatal(err)
			}
			return &Version{Target: syncer.Target{Manifest: m, Writer: writer, State: state}}
		}
		c := New(Options{}, version(1))
		defer c.queue.ShutDown()
		c.states.Set(k, syncer.State{Blob: []byte("state")})

		c.Swap(version(x.next), nil)
		if kept, _ := c.states.Get(k); string(kept.Blob) != x.want {
			t.Errorf("a version whose state has number %d is given %q, expected %q", x.next, kept.Blob, x.want)
		}
	}
}

// A key is synced again at the time that its last sync has said, and not at one that an earlier sync has; after a sync
// that has failed, at the earlier of both.
func TestTimersAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{}, &Version{Target: syncer.Target{Manifest: &abi.Controller{Name: "c"}}})
		defer c.queue.ShutDown()
		for name, x := range map[string]struct {
			first, then time.Duration // virtual, as all time here
			failed      bool
			want        time.Duration // 0: never
		}{
			"later":                    {time.Second, time.Hour, false, time.Hour},
			"not":                      {time.Second, 0, false, 0},
			"failed":                   {time.Second, 0, true, time.Second},
			"failed, later":            {time.Second, time.Hour, true, time.Second},
			"failed, earlier":          {time.Hour, time.Second, true, time.Second},
			"failed, for the one time": {0, time.Second, true, time.Second},
		} {
			waits := func(after time.Duration, want int) {
				t.Helper()
				time.Sleep(after)
				synctest.Wait()
				if n := c.Depth(); n != want {
					t.Fatalf("%s: %v later %d keys wait, expected %d", name, after, n, want)
				}
			}
			c.setTimer(Key{Name: name}, x.first, false)
			c.setTimer(Key{Name: name}, x.then, x.failed)
			if x.want > 0 {
				waits(x.want-time.Millisecond, 0)
				waits(time.Millisecond, 1)
				k, _ := c.queue.Get()
				c.queue.Done(k)
			}
			waits(2*time.Hour, 0) // and never again
		}
	})
}

// A key that fails is tried again once, by its timer or after its back-off, whichever comes first.
func TestTimersAreAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const period = 20 * time.Second
		v := &Version{Target: syncer.Target{Manifest: &abi.Controller{Name: "c",
			Backoff: abi.Backoff{Base: int64(period), Max: int64(period)}}}}
		c := New(Options{}, v)
		defer c.queue.ShutDown()
		attempts := func(within time.Duration) (n int) {
			for range within / time.Second { // virtual
				time.Sleep(time.Second)
				synctest.Wait()
				if c.Depth() > 0 {
					k, _ := c.queue.Get()
					c.queue.Done(k)
					n++
				}
			}
			return n
		}
		for _, x := range []struct {
			timer, wait time.Duration
		}{{period, period}, {time.Second, time.Second}, {0, period}} {
			c.setTimer(Key{Name: "k"}, x.timer, true)
			_, wait := c.retryFailed(v, Key{Name: "k"}, "error", nil)
			if n := attempts(2 * period); n != 1 || wait != x.wait {
				t.Errorf("a timer of %v: next in %v, expected %v, and then %d attempts", x.timer, wait, x.wait, n)
			}
		}

		// A timer that is later leaves the back-off alone.
		c.setTimer(Key{Name: "k"}, 2*period, true)
		if _, wait := c.retryFailed(v, Key{Name: "k"}, "error", nil); wait != period {
			t.Errorf("next in %v", wait)
		}
	})
}

// failing is a controller that creates the service account of namespace shop, which an API server answers with the
// status of the n-th time; asked counts.
func failing(t testing.TB, retries int32, status func(n int) int) (c *Controller, asked *int) {
	t.Helper()
	asked = new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		code, reason := status(*asked), metav1.StatusReasonInvalid
		*asked++
		if code == http.StatusConflict {
			reason = metav1.StatusReasonAlreadyExists
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": %d, "reason": %q}`, code, reason)
	}))
	t.Cleanup(server.Close)

	found, err := plugins.Named("builtin:serviceaccount")
	if err != nil {
		t.Fatalf("%v: run make plugins", err)
	}
	l, err := plugins.Open(t.Context(), found, sandbox.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(t.Context()) })
	m := l.Manifest.Controllers[0]
	m.Backoff = abi.Backoff{Base: int64(time.Millisecond), Retries: retries}
	plan, err := views.Compile(&m)
	if err != nil {
		t.Fatal(err)
	}
	writer, err := effects.New(effects.Options{Controller: &m, Config: &rest.Config{Host: server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	writer.Lead()
	v := &Version{Target: syncer.Target{Manifest: &m, Module: l.Module, Plan: plan, Writer: writer}, Metrics: unmeasured{}}
	c = New(Options{World: shopWorld(t)}, v)
	t.Cleanup(c.queue.ShutDown)
	return c, asked
}

// shopWorld returns a world with one namespace.
func shopWorld(t testing.TB) views.World {
	t.Helper()
	r := abi.Resource{Version: "v1", Name: "namespaces"}
	s, err := schema.For(r)
	if err != nil {
		t.Fatal(err)
	}
	n := corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "u"}}
	n.Status.Phase = corev1.NamespaceActive
	raw, err := n.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return world{r: {"shop": {Resource: s, Name: "shop", UID: "u", Raw: raw}}}
}

// world has objects by resource and name, and in each index all of them.
type world map[abi.Resource]objects

func (w world) Store(r abi.Resource) views.Store { return w[r] }

type objects map[string]*cache.Object

func (o objects) Get(_, name string) *cache.Object    { return o[name] }
func (o objects) ByIndex(_, _ string) []*cache.Object { return o.List() }
func (o objects) List() []*cache.Object               { return slices.Collect(maps.Values(o)) }
func (o objects) Version() string                     { return "1" }

type unmeasured struct{}

func (unmeasured) Synced(Sync) {}
func (unmeasured) Gone(Key)    {}
func (unmeasured) Resynced()   {}
func (unmeasured) Slowed()     {}

func (unmeasured) Answered(Key, []abi.MetricUpdate, func(_, _ int32) ([]string, bool)) {}
