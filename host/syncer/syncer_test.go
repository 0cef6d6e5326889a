package syncer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/budget"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/tracing"
	"github.com/windlass-dev/windlass/host/views"
)

var configMaps = abi.Resource{Version: "v1", Name: "configmaps"}

// guest is a plugin in this process: it is given the request, and perform.
type guest func(r *abi.SyncRequest, perform func(...abi.Effect) (*abi.PerformResponse, error)) *abi.SyncResponse

func (g guest) Sync(ctx context.Context, call *sandbox.Call, read func([]byte) error) (s sandbox.Stats, err error) {
	b := make([]byte, call.Size)
	call.Write(b)
	var r abi.SyncRequest
	if err := abi.DecodeRequest(b, &r); err != nil {
		return s, err
	}
	a := g(&r, func(all ...abi.Effect) (*abi.PerformResponse, error) {
		out, err := call.Perform(ctx, abi.AppendPerform(nil, &abi.PerformRequest{Effects: all}))
		if err != nil {
			return nil, err
		}
		var p abi.PerformResponse
		return &p, abi.DecodePerformed(out, &p)
	})
	return s, read(abi.AppendResponse(nil, a))
}

// alwaysAnswers returns a guest that answers always the same.
func alwaysAnswers(a abi.SyncResponse) guest {
	return func(*abi.SyncRequest, func(...abi.Effect) (*abi.PerformResponse, error)) *abi.SyncResponse { return &a }
}

// world has the config maps that there are, by name.
type world map[string]*cache.Object

func (w world) Store(abi.Resource) views.Store           { return w }
func (w world) Get(_, name string) *cache.Object         { return w[name] }
func (w world) ByIndex(_, _ string) []*cache.Object      { return w.List() }
func (w world) List() []*cache.Object                    { return slices.Collect(maps.Values(w)) }
func (w world) Version() string                          { return "1" }
func (w world) put(t testing.TB, namespace, name string) { w[name] = configMap(t, namespace, name) }

func configMap(t testing.TB, namespace, name string) *cache.Object {
	t.Helper()
	s, err := schema.For(configMaps)
	if err != nil {
		t.Fatal(err)
	}
	return &cache.Object{Resource: s, Namespace: namespace, Name: name, UID: "u", ResourceVersion: "1"}
}

// newTarget returns a controller whose keys are config maps, and which may create some, and what verbs say. requests
// counts what comes to its API server, which refuses all.
func newTarget(t testing.TB, verbs ...string) (target *Target, requests *int) {
	t.Helper()
	requests = new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*requests++
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprint(w, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 422, "reason": "Invalid"}`)
	}))
	t.Cleanup(server.Close)
	m := &abi.Controller{
		Name: "c", State: true, Views: []abi.View{{Name: "maps", Resource: configMaps}},
		Writes: []abi.Write{{Resource: configMaps, Verbs: append([]string{"create"}, verbs...)}},
	}
	plan, err := views.Compile(m)
	if err != nil {
		t.Fatal(err)
	}
	writer, err := effects.New(effects.Options{Plugin: "p", Controller: m, Config: &rest.Config{Host: server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(writer.Close)
	writer.Lead()
	return &Target{Plugin: "p", Manifest: m, Plan: plan, Writer: writer}, requests
}

func create(name string) abi.Effect {
	object, err := (&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}).Marshal()
	if err != nil {
		panic(err) // it has no strings that aren't UTF-8
	}
	return abi.Effect{Kind: abi.EffectCreate, Resource: "v1/configmaps", Namespace: "shop", Name: name, Object: object}
}

// watcher is a witness that takes down what it is told.
type watcher struct{ told []string }

func (w *watcher) Request(b []byte)  { w.told = append(w.told, "request") }
func (w *watcher) Answered(b []byte) { w.told = append(w.told, "answered") }
func (w *watcher) Performed(in, out []byte, err error) {
	what := "performed"
	if err != nil {
		what = "ended by what it performs"
	}
	w.told = append(w.told, what)
}

// An answer is taken as a whole or not at all: of one that is refused nothing is done, kept or counted. That a guest
// goes on after what it performed was refused helps it nothing.
func TestOutcomes(t *testing.T) {
	type perform = func(...abi.Effect) (*abi.PerformResponse, error)
	foreign := abi.Effect{Kind: abi.EffectDelete, Resource: "v1/pods", Namespace: "shop", Name: "web", UID: "u",
		Precondition: abi.PreconditionUID}
	ask := abi.Effect{Kind: abi.EffectFacts}
	for name, x := range map[string]struct {
		guest     guest
		stateless bool
		result    string
		requests  int
		state     string
		told      []string
	}{
		"nothing to do": {
			guest: alwaysAnswers(abi.SyncResponse{}), result: OK, told: []string{"request", "answered"},
		},
		"keeps state": {
			guest: alwaysAnswers(abi.SyncResponse{State: []byte("new")}), result: OK, state: "new",
			told: []string{"request", "answered"},
		},
		"keeps what it has": {
			guest: alwaysAnswers(abi.SyncResponse{KeepState: true}), result: OK, state: "old",
			told: []string{"request", "answered"},
		},
		"says that it failed": {
			guest:  alwaysAnswers(abi.SyncResponse{Error: "no\nway", State: []byte("new")}),
			result: Error, state: "new", told: []string{"request", "answered"},
		},
		"says that it failed, and did what it could": {
			guest:  alwaysAnswers(abi.SyncResponse{Error: "no way", Effects: []abi.Effect{create("a")}, State: []byte("new")}),
			result: Error, requests: 1, state: "new", told: []string{"request", "answered"},
		},
		"an effect fails": {
			guest:  alwaysAnswers(abi.SyncResponse{Effects: []abi.Effect{create("a"), create("b")}, State: []byte("new")}),
			result: Error, requests: 1, state: "new", told: []string{"request", "answered"},
		},
		"performs": {
			guest: func(_ *abi.SyncRequest, perform perform) *abi.SyncResponse {
				if _, err := perform(ask); err != nil {
					return &abi.SyncResponse{Error: err.Error()}
				}
				return &abi.SyncResponse{}
			}, result: OK, told: []string{"request", "performed", "answered"},
		},
		"has no right to an effect": {
			guest:  alwaysAnswers(abi.SyncResponse{Effects: []abi.Effect{create("a"), foreign}, State: []byte("new")}),
			result: Refused, state: "old", told: []string{"request", "answered"},
		},
		"keeps state that it doesn't declare": {
			guest:     alwaysAnswers(abi.SyncResponse{Effects: []abi.Effect{create("a")}, State: []byte("new")}),
			stateless: true, result: Refused, state: "old", told: []string{"request", "answered"},
		},
		"keeps more than it may": {
			guest:  alwaysAnswers(abi.SyncResponse{Effects: []abi.Effect{create("a")}, State: make([]byte, abi.StateMax+1)}),
			result: Refused, state: "old", told: []string{"request", "answered"},
		},
		"goes on after it was refused what it performs": {
			guest: func(_ *abi.SyncRequest, perform perform) *abi.SyncResponse {
				_, _ = perform(foreign)
				return &abi.SyncResponse{Effects: []abi.Effect{create("a")}, State: []byte("new")}
			}, result: Refused, state: "old", told: []string{"request", "ended by what it performs", "answered"},
		},
		"performed a write before that": {
			guest: func(_ *abi.SyncRequest, perform perform) *abi.SyncResponse {
				_, _ = perform(create("a"))
				_, _ = perform(foreign)
				return &abi.SyncResponse{}
			}, result: Performed, requests: 1, state: "old", told: []string{"request", "performed", "ended by what it performs",
				"answered"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			target, requests := newTarget(t)
			target.Module, target.Manifest.State = x.guest, !x.stateless
			k, states, seen, counted := abi.KeyRef{Namespace: "shop", Name: "k"}, &States{}, &watcher{}, &counts{}
			states.Set(k, State{Blob: []byte("old")})
			around := world{}
			around.put(t, "shop", "k")

			s := &Syncer{World: around, States: states}
			if err := s.Prepare(t.Context(), target, &Turn{Key: k, Witnesses: []Witness{seen}, Metrics: counted}); err != nil {
				t.Fatal(err)
			}
			o := s.Sync(t.Context())

			kept, _ := states.Get(k)
			if o.Result != x.result || *requests != x.requests || o.Writes != x.requests || string(kept.Blob) != x.state {
				t.Errorf("%s (%v), %d requests, %d writes, keeps %q; expected %s, %d, %q",
					o.Result, o.Err, *requests, o.Writes, kept.Blob, x.result, x.requests, x.state)
			}
			failed := x.result == Refused || x.result == Performed
			if (o.Failed != nil) != failed || o.Accepted == failed || (counted.answers == 1) == failed ||
				(o.Err == nil) != (x.result == OK) {
				t.Errorf("failed %v, accepted %v, counted %d times, error %v", o.Failed, o.Accepted, counted.answers, o.Err)
			}
			if !slices.Equal(seen.told, x.told) {
				t.Errorf("a witness was told %q, expected %q", seen.told, x.told)
			}
			if o.Err != nil && strings.Contains(o.Err.Error(), "no\nway") {
				t.Errorf("its error's text forges lines: %q", o.Err)
			}
		})
	}
}

// counts counts what a plugin's metrics are told.
type counts struct {
	answers int
	gone    []abi.KeyRef
}

func (c *counts) Answered(abi.KeyRef, []abi.MetricUpdate, func(_, _ int32) ([]string, bool)) {
	c.answers++
}
func (c *counts) Gone(k abi.KeyRef) { c.gone = append(c.gone, k) }

// With a key's object end its state, its metrics and what it has published; whatever came of the sync that saw it gone.
func TestGone(t *testing.T) {
	publish := abi.Effect{Kind: abi.EffectPublish, Object: []byte("fact"), Terms: []string{"term"}}
	facts := abi.Effect{Kind: abi.EffectFacts, Namespace: "shop", Terms: []string{"term"}}
	for _, fails := range []bool{false, true} {
		target, _ := newTarget(t)
		k, states, counted, around := abi.KeyRef{Namespace: "shop", Name: "k"}, &States{}, &counts{}, world{}
		published := -1
		target.Module = guest(func(r *abi.SyncRequest, perform func(...abi.Effect) (*abi.PerformResponse,
			error)) *abi.SyncResponse {
			a := &abi.SyncResponse{State: []byte("state")}
			switch {
			case r.Key.Name == "other":
				p, err := perform(facts)
				if err != nil {
					t.Error(err)
					return a
				}
				published = len(p.Outcomes[0].Facts)
			case len(r.Views[0].Objects) > 0:
				if _, err := perform(publish); err != nil {
					t.Error(err)
				}
			case fails:
				a.Effects = []abi.Effect{{Kind: abi.EffectDelete, Resource: "v1/pods", Name: "p"}}
			}
			return a
		})
		s := &Syncer{World: around, States: states}
		sync := func(k abi.KeyRef) Outcome {
			if err := s.Prepare(t.Context(), target, &Turn{Key: k, Metrics: counted}); err != nil {
				t.Fatal(err)
			}
			return s.Sync(t.Context())
		}

		around.put(t, "shop", "k")
		around.put(t, "shop", "other")
		sync(k)
		sync(abi.KeyRef{Namespace: "shop", Name: "other"})
		if kept, _ := states.Get(k); published != 1 || string(kept.Blob) != "state" || counted.gone != nil {
			t.Fatalf("while it is there: %d facts, state %q, gone %v", published, kept.Blob, counted.gone)
		}

		delete(around, "k")
		o := sync(k)
		sync(abi.KeyRef{Namespace: "shop", Name: "other"})
		_, kept := states.Get(k)
		if published != 0 || kept != fails || (counted.gone == nil) != fails || (o.Failed != nil) != fails {
			t.Errorf("fails %v: after its end %d facts, keeps state %v, gone %v, failed %v", fails, published, kept,
				counted.gone, o.Failed)
		}
	}
}

// Effects are done only where they are permitted, those of performs and those of the answer.
func TestPermit(t *testing.T) {
	no := errors.New("no")
	for _, allowed := range []int{0, 1, 2} { // calls that are permitted
		target, requests := newTarget(t)
		target.Module = guest(func(_ *abi.SyncRequest, perform func(...abi.Effect) (*abi.PerformResponse,
			error)) *abi.SyncResponse {
			_, _ = perform(create("a"))
			return &abi.SyncResponse{Effects: []abi.Effect{create("b")}}
		})
		asked := 0
		s := &Syncer{World: world{}}
		turn := &Turn{Key: abi.KeyRef{Name: "k"}, Permit: func([]abi.Effect) error {
			if asked++; asked > allowed {
				return no
			}
			return nil
		}}
		if err := s.Prepare(t.Context(), target, turn); err != nil {
			t.Fatal(err)
		}
		o := s.Sync(t.Context())
		if *requests != allowed || errors.Is(o.Err, no) != (allowed < 2) || o.Accepted != (allowed > 0) {
			t.Errorf("%d permitted: %d requests, error %v, accepted %v", allowed, *requests, o.Err, o.Accepted)
		}
	}
}

// A snapshot that can't be had is the sync's error; the guest isn't called.
func TestUnready(t *testing.T) {
	target, _ := newTarget(t)
	target.Module = guest(func(*abi.SyncRequest, func(...abi.Effect) (*abi.PerformResponse, error)) *abi.SyncResponse {
		t.Error("the guest was called")
		return &abi.SyncResponse{}
	})
	around := world{"k": configMap(t, "", "k")}
	around["k"].Raw = []byte{0xff}
	s := &Syncer{World: around}
	err := s.Prepare(t.Context(), target, &Turn{Key: abi.KeyRef{Name: "k"}})
	o := s.Sync(t.Context())
	if err == nil || o.Err != err || o.Result != Error || o.Failed != nil || o.Accepted {
		t.Errorf("%v; then %+v", err, o)
	}
}

// Only a controller with one key is synced again on a period, where its sync doesn't say when.
func TestNext(t *testing.T) {
	for _, x := range []struct {
		key   abi.Key
		asked time.Duration
		want  time.Duration
	}{
		{abi.Key{}, 0, 0}, {abi.Key{}, time.Second, time.Second}, {abi.Key{Period: int64(time.Minute)}, 0, 0},
		{abi.Key{Single: true, Period: int64(time.Minute)}, 0, time.Minute},
		{abi.Key{Single: true, Period: int64(time.Minute)}, time.Second, time.Second},
	} {
		target := &Target{Manifest: &abi.Controller{Key: x.key}}
		if got := target.Next(x.asked); got != x.want {
			t.Errorf("%+v, asked for after %v: after %v, expected %v", x.key, x.asked, got, x.want)
		}
	}
}

// What a sync on a version keeps that has been replaced meanwhile is nothing for the next version, unless that
// understands it.
func TestStateOfAFormerVersion(t *testing.T) {
	k := abi.KeyRef{Name: "k"}
	for _, x := range []struct {
		next int32 // the number of the new version's state
		want string
	}{{1, "state"}, {2, ""}} {
		s := &States{}
		s.Adopt(1)
		s.Adopt(x.next)
		s.keepState(1, k, "uid", false, &abi.SyncResponse{State: []byte("state")})
		if got := string(s.stateOf(x.next, k, "uid")); got != x.want {
			t.Errorf("a version whose state has number %d is given %q, expected %q", x.next, got, x.want)
		}
		if got := s.stateOf(3, k, "uid"); got != nil {
			t.Errorf("a version that wouldn't understand it is given %q", got)
		}
	}
}

// A key's state is that of one object: another one of the same name begins without.
func TestStateIsOfAnObject(t *testing.T) {
	k := abi.KeyRef{Name: "k"}
	for _, x := range []struct{ of, now, want string }{
		{"a", "a", "state"}, {"a", "b", ""}, {"", "a", "state"}, {"a", "", "state"}, {"", "", "state"},
	} {
		s := &States{}
		s.keepState(0, k, x.of, false, &abi.SyncResponse{State: []byte("state")})
		if got := string(s.stateOf(0, k, x.now)); got != x.want {
			t.Errorf("kept of %q, begun with %q: %q, expected %q", x.of, x.now, got, x.want)
		}
	}
}

// All keys of a controller keep so much together and no more; what one gives up is room for others.
func TestStatesAreBounded(t *testing.T) {
	s := &States{}
	a, b := abi.KeyRef{Name: "a"}, abi.KeyRef{Name: "b"}
	s.Set(a, State{Blob: make([]byte, statesMax-10)})
	if !s.hasRoom(b, 10) || s.hasRoom(b, 11) || !s.hasRoom(a, statesMax) || !s.hasRoom(b, 0) {
		t.Error("with ten bytes left others may not keep ten, or may keep more")
	}
	s.keepState(0, a, "", false, &abi.SyncResponse{})
	if !s.hasRoom(b, statesMax) || s.kept != 0 {
		t.Errorf("%d bytes are kept of nothing", s.kept)
	}
}

// A metric's seconds are those of the performs that it names, and of nothing else: what a guest makes up is none.
func TestSecondsOfPerforms(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(0, int64(ms)*int64(time.Millisecond)) }
	s := &Syncer{began: at(0)}
	s.performs = []span{{at(0), at(10)}, {at(15), at(40)}, {at(90), at(100)}}
	for _, x := range []struct {
		from, to int32
		want     float64
	}{
		{1, 2, 0.010}, {2, 3, 0.025}, {1, 3, 0.040}, {1, 4, 0.100}, {3, 4, 0.010},
		{2, 2, 0}, {4, 4, 0}, {3, 2, 0}, {1, 5, 0}, {-1, 2, 0}, {1, -1 << 31, 0}, {-1 << 31, 1<<31 - 1, 0},
	} {
		if got := s.seconds(&abi.MetricUpdate{From: x.from, To: x.to}); got != x.want {
			t.Errorf("from %d to %d: %v s, want %v", x.from, x.to, got, x.want)
		}
	}
	s.began = time.Now().Add(-time.Hour)
	if got := s.seconds(&abi.MetricUpdate{}); got < 3600 || got > 3700 {
		t.Errorf("the whole sync: %v s, it began an hour ago", got)
	}
}

// The namespace of a metric is one that the sync has to do with.
func TestNamespacesOfMetrics(t *testing.T) {
	m := &abi.Controller{Name: "c", Key: abi.Key{Single: true}, Views: []abi.View{{Name: "maps", Resource: configMaps}}}
	plan, err := views.Compile(m)
	if err != nil {
		t.Fatal(err)
	}
	around := world{}
	around.put(t, "shop", "web")
	var snapshot views.Snapshot
	if err := plan.Snapshot(around, abi.KeyRef{}, &snapshot); err != nil {
		t.Fatal(err)
	}

	got := dropForeign(&snapshot, abi.KeyRef{Namespace: "own"},
		[]abi.MetricUpdate{{Namespace: "shop"}, {Namespace: "invented"}, {Namespace: ""}, {Namespace: "own"}})
	var namespaces []string
	for _, u := range got {
		namespaces = append(namespaces, u.Namespace)
	}
	if want := []string{"shop", "", "own"}; !slices.Equal(namespaces, want) {
		t.Errorf("namespaces %q, expected %q", namespaces, want)
	}
}

// A call that isn't traced allocates nothing for it.
func TestUntracedAllocations(t *testing.T) {
	stats, err := &sandbox.Stats{Fuel: 1, Duration: time.Second}, fmt.Errorf("failed")
	if n := testing.AllocsPerRun(1000, func() {
		_, step := tracing.Start(t.Context(), "guest")
		endCallSpan(step, stats, err)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// empty is a module that answers nothing, and allocates nothing.
type empty struct{ buffer []byte }

func (e *empty) Sync(_ context.Context, call *sandbox.Call, read func([]byte) error) (s sandbox.Stats, err error) {
	call.Write(e.buffer[:call.Size])
	return s, read(nil)
}

// A sync allocates its session of effects, and nothing else.
func TestSyncAllocations(t *testing.T) {
	target, _ := newTarget(t)
	target.Module = &empty{make([]byte, 1<<10)}
	around := world{}
	around.put(t, "shop", "k")
	s, turn := &Syncer{World: around, States: &States{}}, &Turn{Key: abi.KeyRef{Namespace: "shop", Name: "k"},
		Metrics: &counts{}}
	session := testing.AllocsPerRun(1000, func() {
		s.session = target.Writer.Begin(turn.Key, &s.snapshot)
		if err := s.session.Check(nil); err != nil {
			t.Fatal(err)
		}
		s.session.End()
	})

	snapshot := testing.AllocsPerRun(1000, func() {
		if err := s.Prepare(t.Context(), target, turn); err != nil {
			t.Fatal(err)
		}
	})
	if n := testing.AllocsPerRun(1000, func() {
		if err := s.Prepare(t.Context(), target, turn); err != nil {
			t.Fatal(err)
		}
		if o := s.Sync(t.Context()); o.Err != nil {
			t.Fatal(o.Err)
		}
	}); n > snapshot+session {
		t.Errorf("%v allocations, of which a snapshot has %v and a session %v", n, snapshot, session)
	}
}

// States are held on the plugin's memory, which is given back with them.
func TestStatesAreHeld(t *testing.T) {
	memory := budget.NewMemory("p", 3000, budget.NewTotal(1<<40), nil)
	s := &States{Memory: memory}
	a, b := abi.KeyRef{Name: "a"}, abi.KeyRef{Name: "b"}
	s.Set(a, State{Blob: make([]byte, 2000)})
	if n := memory.Held(budget.State); n < 2000 || n > 2500 {
		t.Errorf("%d bytes are held for a state of 2000", n)
	}
	if err := s.checkMemory(b, 1000); err == nil || !strings.Contains(err.Error(), "plugins[p].budget.memory") {
		t.Errorf("beside that of another key: %v", err)
	}
	if err := s.checkMemory(a, 2700); err != nil {
		t.Errorf("in its own one's place: %v", err)
	}

	s.Set(b, State{Blob: make([]byte, 10)})
	s.keepState(0, a, "", false, &abi.SyncResponse{})
	if n := memory.Held(budget.State); n >= 500 {
		t.Errorf("%d bytes are held for a state of 10", n)
	}
	s.Clear()
	if n := memory.Sum(); n != 0 {
		t.Errorf("%d bytes are held for no state", n)
	}
}
