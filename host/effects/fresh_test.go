package effects

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/discovery"
	"github.com/windlass-dev/windlass/host/schema/schematest"
	"github.com/windlass-dev/windlass/test/cluster"
)

func (s *testStore) List() []*cache.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*cache.Object
	for _, o := range s.objects {
		all = append(all, o)
	}
	return all
}

// newAskingWorld returns a world whose controller has a lazy view on config maps, and a store of them.
func newAskingWorld(t *testing.T, change func(*Options)) (*world, *testStore, []abi.Effect) {
	w := newWorld(t, abi.Controller{Views: []abi.View{{Name: "maps", Resource: configMaps, Lazy: true}}},
		func(o *Options) {
			o.Reader = o.Config // through the proxy, which counts
			if change != nil {
				change(o)
			}
		})
	store := &testStore{}
	w.stores[configMaps.String()] = store
	return w, store, []abi.Effect{{Kind: abi.EffectView, Ask: &abi.Ask{View: 0, Namespace: w.ns, Fresh: true}}}
}

func (w *world) configMap(name string) *cache.Object {
	w.t.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := w.kube.CoreV1().ConfigMaps(w.ns).Create(w.t.Context(), m, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	return w.cachedObject(configMaps.String(), name)
}

// pending performs the effects, and returns what tells the outcome.
func (w *world) pending(effects []abi.Effect) <-chan abi.Outcome {
	done := make(chan abi.Outcome, 1)
	s := w.beginSession()
	go func() {
		defer s.End()
		o, err := s.Perform(w.t.Context(), effects)
		if err != nil || len(o) != 1 {
			done <- abi.Outcome{Code: abi.CodeFailed, Message: fmt.Sprint(o, err)}
			return
		}
		done <- o[0]
	}()
	return done
}

func TestOnClusterAFreshQuestionWaitsForTheCache(t *testing.T) {
	w, store, ask := newAskingWorld(t, nil)
	a, b := w.configMap("a"), w.configMap("b")
	move := func(version string, objects ...*cache.Object) {
		store.set(version, objects...)
		w.writer.Progress(configMaps)
	}
	answered := func(what string, done <-chan abi.Outcome) {
		t.Helper()
		select {
		case o := <-done:
			if o.Code != abi.CodeOK || o.View == nil {
				t.Fatalf("%s: %+v", what, o)
			}
		case <-time.After(50 * time.Second): // within the minute below
			t.Fatalf("%s: no answer", what)
		}
	}
	waits := func(what string) <-chan abi.Outcome {
		t.Helper()
		before := w.proxy.requests()
		done := w.pending(ask)
		cluster.Eventually(t, time.Minute, "the list", func() (bool, any) { n := w.proxy.requests(); return n > before, n })
		w.writer.Progress(configMaps) // nothing new
		select {
		case o := <-done:
			t.Fatalf("%s: answered with %+v", what, o)
		case <-time.After(200 * time.Millisecond):
		}
		return done
	}
	move(a.ResourceVersion, a)
	done := waits("the cache hasn't seen b")
	move(b.ResourceVersion, a, b)
	answered("it has", done)

	// What happens to other resources moves the version of the collection, and the cache doesn't hear of it for a minute.
	if _, err := w.kube.CoreV1().Secrets(w.ns).Create(t.Context(),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	answered("nothing has happened to config maps", w.pending(ask))

	if err := w.kube.CoreV1().ConfigMaps(w.ns).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	done = waits("the cache has what was deleted")
	move(b.ResourceVersion, b)
	answered("it hasn't any more", done)
}

func TestOnClusterAFreshQuestionGivesUp(t *testing.T) {
	w, store, ask := newAskingWorld(t, func(o *Options) { o.Timeout = time.Second })
	w.configMap("a")
	store.set("1")
	o := <-w.pending(ask)
	if o.Code != abi.CodeFailed || !strings.Contains(o.Message, "view maps: the cache of v1/configmaps is at resourceVersion 1,") {
		t.Errorf("%+v", o)
	}
}

func TestOnClusterFreshQuestionsShareLists(t *testing.T) {
	w, store, ask := newAskingWorld(t, nil)
	a := w.configMap("a")
	store.set(a.ResourceVersion, a)
	w.proxy.loseRequests(0, 0)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if o := <-w.pending(ask); o.Code != abi.CodeOK {
				t.Errorf("%+v", o)
			}
		})
	}
	all.Wait()
	if n := w.proxy.requests(); n > 25 {
		t.Errorf("%d lists for 50 questions at once", n)
	} else {
		t.Logf("%d lists for 50 questions at once", n)
	}
}

// Lists and discoveries that a guest asks for are requests of its controller's, and count as such.
func TestOnClusterQuestionsAreRequests(t *testing.T) {
	w, store, ask := newAskingWorld(t, func(o *Options) {
		o.Requests = flowcontrol.NewTokenBucketRateLimiter(0.0001, 3)
		o.Timeout = 10 * time.Second
		d, err := discovery.New(o.Config)
		if err != nil {
			t.Fatal(err)
		}
		o.Discovery = d
	})
	a := w.configMap("a")
	store.set(a.ResourceVersion, a)
	discover := []abi.Effect{{Kind: abi.EffectDiscover, Discover: &abi.Discover{}}}

	for n, question := range [][]abi.Effect{ask, discover, ask} {
		if o := <-w.pending(question); o.Code != abi.CodeOK {
			t.Fatalf("question %d: %+v", n, o)
		}
	}
	w.proxy.loseRequests(0, 0)
	for n, question := range [][]abi.Effect{ask, discover} {
		o := <-w.pending(question)
		if o.Code != abi.CodeFailed || !strings.Contains(o.Message, "the controller has no request left (api.qps)") {
			t.Errorf("question %d: %+v", n, o)
		}
	}
	if n := w.proxy.requests(); n != 0 {
		t.Errorf("%d requests were sent all the same", n)
	}
}

// Of namespaces that have been asked for nothing is kept.
func TestOnClusterFreshQuestionsAreForgotten(t *testing.T) {
	w, store, ask := newAskingWorld(t, nil)
	store.set("1")
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			question := []abi.Effect{ask[0]}
			question[0].Ask = &abi.Ask{View: 0, Namespace: fmt.Sprintf("none-%d", n/2), Fresh: true}
			<-w.pending(question)
		})
	}
	all.Wait()
	f := &w.writer.news
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.next) + len(f.running) + len(f.latest); n > 0 {
		t.Errorf("%d lists are kept", n)
	}
}

// keyed is the snapshot of a key with an object.
type keyed struct{ snapshot }

func (k keyed) KeyObject() (uid string, exists bool) { return string(k.snapshot[0].UID), true }

// A shared question is answered by an earlier one's list, if that began after the cache held the key's object.
func TestOnClusterSharedQuestionsNeedNoListEach(t *testing.T) {
	secrets := abi.Resource{Version: "v1", Name: "secrets"}
	w := newWorld(t, abi.Controller{Views: []abi.View{
		{Name: "secrets", Resource: secrets}, {Name: "maps", Resource: configMaps, Lazy: true},
	}}, func(o *Options) { o.Reader = o.Config })
	maps, keys := &testStore{}, &testStore{}
	w.stores[configMaps.String()], w.stores[secrets.String()] = maps, keys
	a := w.configMap("a")
	maps.set(a.ResourceVersion, a)
	w.proxy.loseRequests(0, 0)

	key := func(version string) *cache.Object {
		return &cache.Object{Resource: schematest.Resource(t, secrets.String()), Namespace: w.ns, Name: "key", UID: "u",
			ResourceVersion: version}
	}
	sent := 0
	asks := func(what string, key *cache.Object, ask abi.Ask, lists int) {
		t.Helper()
		s := w.writer.Begin(abi.KeyRef{Namespace: w.ns, Name: "key"}, keyed{snapshot{key}})
		defer s.End()
		ask.View, ask.Namespace, ask.Fresh = 1, w.ns, true
		o, err := s.Perform(t.Context(), []abi.Effect{{Kind: abi.EffectView, Ask: &ask}})
		if err != nil || o[0].Code != abi.CodeOK {
			t.Fatalf("%s: %v %v", what, o, err)
		}
		if n := w.proxy.requests(); n-sent != lists {
			t.Errorf("%s: %d lists, should be %d", what, n-sent, lists)
		}
		sent = w.proxy.requests()
	}

	shared := abi.Ask{Shared: true}
	keys.set("100")
	asks("the first one", key("90"), shared, 1)
	for range 3 {
		asks("about what was known when it began", key("100"), shared, 0)
	}
	asks("one that isn't shared", key("90"), abi.Ask{}, 1)

	keys.set("200")
	asks("about what has come since", key("101"), shared, 1)
	asks("about what has come before", key("101"), shared, 0)
	asks("about what the cache shows ahead of its version", key("201"), shared, 1)
	asks("the same again", key("201"), shared, 1)

	keys.set("300")
	asks("it has reached it", key("201"), shared, 1)
	keys.set("250")
	asks("the cache of the keys has gone back", key("201"), shared, 1)
	asks("that was seen", key("201"), shared, 0)

	b := w.configMap("b")
	sent = w.proxy.requests()
	keys.set("400")
	maps.set(b.ResourceVersion, a, b)
	asks("with another object", key("400"), shared, 1)
	if err := w.kube.CoreV1().ConfigMaps(w.ns).Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	maps.set(a.ResourceVersion, a)
	asks("the cache has gone back", key("400"), shared, 1)
}
