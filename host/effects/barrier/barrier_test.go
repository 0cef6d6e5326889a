package barrier

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema/schematest"
)

var pods = abi.Resource{Version: "v1", Name: "pods"}

// newBarriers makes barriers of a controller that reads pods.
func newBarriers(t *testing.T, store Store) *Barriers {
	s := &Sight{LiveCheck: time.Hour, Store: func(r abi.Resource) Store {
		if r != pods {
			return nil
		}
		return store
	}}
	b := New(s)
	t.Cleanup(func() { b.CloseOf(s) })
	return b
}

// versioned is a store of which only the version is of interest.
type versioned struct{ version string }

func (s *versioned) Get(_, _ string) *cache.Object { return nil }
func (s *versioned) Version() string               { return s.version }

// A key waits for the highest version that it has written, in whatever order the answers came.
func TestWaitsForTheHighestVersion(t *testing.T) {
	for _, written := range [][]string{{"7", "9", "8"}, {"9", "7", "8"}, {"7", "8", "9"}, {"10", "9"}} {
		store, key := &versioned{}, abi.KeyRef{Name: "web"}
		b := newBarriers(t, store)
		highest := "9"
		for _, v := range written {
			b.Written(key, pods, v)
			if v == "10" {
				highest = v
			}
		}

		store.version = "8"
		if b.Ready(key) {
			t.Errorf("written %v: synced at version %s", written, store.version)
		}
		store.version = highest
		if !b.Ready(key) {
			t.Errorf("written %v: not synced at version %s", written, store.version)
		}
	}
}

// goneStore counts the looks at its objects.
type goneStore struct {
	objects map[string]*cache.Object
	looks   int
}

func (s *goneStore) Get(namespace, name string) *cache.Object { s.looks++; return s.objects[name] }
func (s *goneStore) Version() string                          { return "1" }

// A key that has removed many objects looks at each a few times until the last is gone, not at all of them at each
// event.
func TestWaitsForManyRemovals(t *testing.T) {
	const n = 500
	store := &goneStore{objects: map[string]*cache.Object{}}
	b := newBarriers(t, store)
	key := abi.KeyRef{Namespace: "default", Name: "web"}
	for i := range n {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}}
		p.Name, p.UID = fmt.Sprint("web-", i), types.UID(fmt.Sprint("uid-", i))
		store.objects[p.Name] = &cache.Object{Namespace: p.Namespace, Name: p.Name, UID: p.UID, Raw: schematest.Marshal(t, p)}
		b.Removed(key, Gone{Resource: pods, Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Deleted: true})
	}

	woken := make(chan struct{})
	b.Park(key, func() { close(woken) })
	for i := range n {
		select {
		case <-woken:
			t.Fatalf("woken with %d objects left", n-i)
		default:
		}

		// In another order than they were removed in; half of them are deleted at first.
		name := fmt.Sprint("web-", (i*7+3)%n)
		if i%2 == 0 {
			now, p := metav1.Now(), &corev1.Pod{}
			p.DeletionTimestamp = &now
			store.objects[name] = &cache.Object{Namespace: p.Namespace, Name: name, UID: store.objects[name].UID,
				Raw: schematest.Marshal(t, p)}
		} else {
			delete(store.objects, name)
		}
		b.Progress(pods)
	}

	select {
	case <-woken:
	case <-time.After(time.Minute):
		t.Fatal("not woken though all are gone")
	}

	if store.looks > 5*n {
		t.Errorf("%d looks at %d objects", store.looks, n)
	}
	if !b.Ready(key) {
		t.Error("the key isn't ready")
	}
}

// An object that was being deleted before a key has deleted it, at once this time, is waited for until the cache shows
// what has become of it.
func TestWaitsForSecondDeletion(t *testing.T) {
	now, p := metav1.Now(), &corev1.Pod{}
	p.Namespace, p.Name, p.UID, p.DeletionTimestamp = "default", "web-0", "uid-0", &now
	store := &goneStore{objects: map[string]*cache.Object{
		p.Name: {Namespace: p.Namespace, Name: p.Name, UID: p.UID, Raw: schematest.Marshal(t, p)},
	}}
	b := newBarriers(t, store)
	key := abi.KeyRef{Namespace: "default", Name: "web"}
	g := Gone{Resource: pods, Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Deleted: true, Version: "2"}
	b.Removed(key, g)
	if b.Ready(key) {
		t.Error("ready while the cache shows the object as it was before")
	}
	delete(store.objects, p.Name)
	if !b.Ready(key) {
		t.Error("not ready though the object is gone")
	}

	g.Version = "1"
	b.Removed(key, g)
	if !b.Ready(key) {
		t.Error("not ready though the cache has reached the answer's version")
	}
}

// Which keys wait is told, with what for: a few things of each, and the longest wait first.
func TestParked(t *testing.T) {
	store := &goneStore{objects: map[string]*cache.Object{}}
	b := newBarriers(t, store)
	first, second, never := abi.KeyRef{Namespace: "default", Name: "web"}, abi.KeyRef{Namespace: "default", Name: "db"},
		abi.KeyRef{Namespace: "default", Name: "idle"}
	b.Written(first, pods, "7")
	for i := range 2 * parkedFor {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}}
		p.Name, p.UID = fmt.Sprint("db-", i), types.UID(fmt.Sprint("uid-", i))
		store.objects[p.Name] = &cache.Object{Namespace: p.Namespace, Name: p.Name, UID: p.UID, Raw: schematest.Marshal(t, p)}
		b.Removed(second, Gone{Resource: pods, Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Deleted: true})
	}
	b.Written(never, pods, "8")
	woken := make(chan struct{}, 2)
	b.Park(first, func() { woken <- struct{}{} })
	b.Park(second, func() { woken <- struct{}{} })

	keys, all := b.Parked(10)
	if all != 2 || len(keys) != 2 || keys[0].Key != first || keys[1].Key != second ||
		time.Since(keys[0].Since) > time.Minute {
		t.Fatalf("%d: %+v", all, keys)
	}
	if got := fmt.Sprint(keys[0].For); got != "[v1/pods at resourceVersion 7: the cache is at 1]" {
		t.Errorf("the first waits for %s", got)
	}
	if got := keys[1].For; len(got) != parkedFor+1 || !strings.HasPrefix(got[0], "v1/pods default/db-") ||
		!strings.HasSuffix(got[0], " to be deleted from the cache") || got[parkedFor] != "perhaps more" {
		t.Errorf("the second waits for %q", got)
	}
	if keys, all := b.Parked(1); all != 2 || len(keys) != 1 {
		t.Errorf("%d of %d", len(keys), all)
	}
	clear(store.objects)
	b.Progress(pods)
	<-woken
	if _, all := b.Parked(0); all != 1 {
		t.Errorf("%d wait still", all)
	}
}

// What a key waits for is its own, whatever becomes of the answer that the names were in.
func TestWaitsForItsOwnNames(t *testing.T) {
	b, key, answer := newBarriers(t, &versioned{}), abi.KeyRef{Name: "web"}, []byte("default/web-1")
	in := func(from, to int) string { return unsafe.String(&answer[from], to-from) }
	b.AwaitChange(key, Stale{Resource: pods, Namespace: in(0, 7), Name: in(8, 13)})
	copy(answer, "another answer")
	if o := b.keys[key].stale[0]; o.Namespace != "default" || o.Name != "web-1" {
		t.Errorf("%q/%q is waited for", o.Namespace, o.Name)
	}
}
