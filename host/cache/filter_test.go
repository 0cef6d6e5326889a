package cache

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcache "k8s.io/client-go/tools/cache"
)

var secrets = abi.Resource{Version: "v1", Name: "secrets"}

// labelled keeps the objects that have the value at the label.
func labelled(t testing.TB, r abi.Resource, label, value string) *Filter {
	t.Helper()
	s, err := schema.For(r)
	if err != nil {
		t.Fatal(err)
	}
	path := "metadata.labels[" + label + "]"
	reads, err := s.Message.Mask(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Message.Path(path)
	if err != nil {
		t.Fatal(err)
	}
	return &Filter{Name: path + "=" + value, Reads: reads, Keep: func(o *Object) bool {
		var room [1][]byte
		vs, err := p.Values(room[:0], o.Raw)
		return err == nil && len(vs) == 1 && string(vs[0]) == value
	}}
}

func secret(name, version string, labels map[string]string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "uid-1", ResourceVersion: version, Labels: labels,
			Annotations: map[string]string{"note": "x"}},
		Data: map[string][]byte{"password": []byte("hunter2")}, Type: "Opaque",
	}
}

// fixture is a resource that no server feeds.
type fixture struct {
	*resource
	t testing.TB
	d *decoder
	h *recorder
}

func newFixture(t testing.TB, wants ...Want) *fixture {
	t.Helper()
	s, err := schema.For(secrets)
	if err != nil {
		t.Fatal(err)
	}
	r := newResource(s, func(*decoder) (clientcache.ListerWatcher, error) { return &clientcache.ListWatch{}, nil })
	for _, w := range wants {
		if err := r.declare(newReader(r, w.Mask, w), nil); err != nil {
			t.Fatal(err)
		}
	}
	if r.feed, err = newFeed(r, r.wanted, r.store.contents.Load()); err != nil {
		t.Fatal(err)
	}
	x := &fixture{resource: r, t: t, d: r.feed.decoder, h: newRecorder()}
	t.Cleanup(r.addHandler(x.h))
	return x
}

// releaseOne has one of the readers stop reading.
func (x *fixture) releaseOne() {
	for r := range x.readers {
		r.Release()
		return
	}
}

func (x *fixture) decodedSecret(s *corev1.Secret) *Object { return decoded(x.t, x.d, s) }

func decoded(t testing.TB, d *decoder, s *corev1.Secret) *Object {
	t.Helper()
	raw, err := s.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	o, err := d.decodeObject(raw)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// awaitEvents returns the events, of which there are to be n, in words.
func (x *fixture) awaitEvents(n int) []string {
	x.t.Helper()
	eventually(x.t, fmt.Sprint(n, " events"), func() bool { return len(x.h.eventsAbout("")) >= n })
	return x.h.eventsAbout("")
}

func (x *fixture) expectEvents(want ...string) {
	x.t.Helper()
	if got := x.awaitEvents(len(want)); !slices.Equal(got, want) {
		x.t.Errorf("heard %v, want %v", got, want)
	}
}

func TestOnlyWhatSomeReaderKeepsIsStored(t *testing.T) {
	a, b := map[string]string{"app": "a"}, map[string]string{"app": "b"}
	x := newFixture(t, Want{Mask: pathMask(t, secrets, "data"), Filter: labelled(t, secrets, "app", "a")})
	f := x.feed
	f.Replace([]any{x.decodedSecret(secret("one", "1", a)), x.decodedSecret(secret("two", "1", b))}, "5")
	f.Add(x.decodedSecret(secret("three", "6", b)))
	if x.store.Len() != 1 || x.store.Version() != "6" {
		t.Fatalf("%d objects at version %s", x.store.Len(), x.store.Version())
	}

	f.Add(x.decodedSecret(secret("four", "7", a)))
	f.Update(x.decodedSecret(secret("three", "8", a))) // comes
	f.Update(x.decodedSecret(secret("one", "9", b)))   // goes
	if x.store.Get("ns", "one") != nil || x.store.Version() != "9" {
		t.Errorf("one is there at version %s", x.store.Version())
	}
	f.Update(x.decodedSecret(secret("one", "10", nil)))
	f.Delete(x.decodedSecret(secret("one", "11", nil)))
	f.Delete(x.decodedSecret(secret("three", "12", b)))
	if x.store.Version() != "12" {
		t.Errorf("version %s", x.store.Version())
	}

	// After a gap: four has ceased to match, two is gone unseen, five came in between or had not matched.
	f.Replace([]any{x.decodedSecret(secret("four", "13", b)), x.decodedSecret(secret("five", "14", a))}, "20")
	x.expectEvents("initial one", "add four", "add? three", "delete? one", "delete three", "delete? four", "add? five")
	if x.store.Len() != 1 || x.store.Version() != "20" {
		t.Errorf("%d objects at version %s", x.store.Len(), x.store.Version())
	}
}

func TestANamesakeThatIsNotKeptIsADelete(t *testing.T) {
	x := newFixture(t, Want{Mask: pathMask(t, secrets, "data"), Filter: labelled(t, secrets, "app", "a")})
	x.feed.Replace([]any{x.decodedSecret(secret("one", "1", map[string]string{"app": "a"}))}, "5")
	other := secret("one", "7", nil)
	other.UID = "another"
	x.feed.Replace([]any{x.decodedSecret(other)}, "8")
	x.expectEvents("initial one", "delete one")
}

// Of an object the data of which one reader wants, and the metadata all, only the metadata is kept where the first has
// no use for it.
func TestAnObjectIsKeptAsItsOwnReadersWant(t *testing.T) {
	x := newFixture(t,
		Want{Mask: pathMask(t, secrets, "data"), Filter: labelled(t, secrets, "app", "a")},
		Want{Mask: pathMask(t, secrets, "metadata.annotations")},
		Want{Mask: pathMask(t, secrets, "type"), Filter: labelled(t, secrets, "tier", "q")})
	if x.d.dropsObjects() {
		t.Error("a reader wants all objects")
	}

	for _, c := range []struct {
		labels     map[string]string
		data, kind bool
	}{
		{nil, false, false},
		{map[string]string{"app": "a"}, true, false},
		{map[string]string{"app": "b", "tier": "q"}, false, true},
		{map[string]string{"app": "a", "tier": "q"}, true, true},
	} {
		o := x.decodedSecret(secret("one", "1", c.labels))
		var s corev1.Secret
		if err := s.Unmarshal(o.Raw); err != nil {
			t.Fatal(err)
		}

		if s.Annotations["note"] != "x" || (len(s.Data) > 0) != c.data || (s.Type != "") != c.kind {
			t.Errorf("%v: %+v", c.labels, s)
		}

		// What filters read is always there: any reader can tell whether an object is its own.
		if s.Labels["app"] != c.labels["app"] || s.Labels["tier"] != c.labels["tier"] {
			t.Errorf("%v: labels are %v", c.labels, s.Labels)
		}
		again, kept, err := x.d.narrowObject(nil, o)
		if err != nil || !kept || string(again) != string(o.Raw) {
			t.Errorf("%v: read again it is %q, not %q (%v)", c.labels, again, o.Raw, err)
		}
	}
}

func TestWhatIsCovered(t *testing.T) {
	a, b := labelled(t, secrets, "app", "a"), labelled(t, secrets, "app", "b")
	tier := labelled(t, secrets, "tier", "q")
	data, meta := pathMask(t, secrets, "data"), pathMask(t, secrets, "metadata")
	annotations := pathMask(t, secrets, "metadata.annotations")

	for name, c := range map[string]struct {
		have []Want
		want Want
		is   bool
	}{
		"nothing":         {nil, Want{Mask: annotations}, false},
		"the same filter": {[]Want{{Mask: data, Filter: a}}, Want{Mask: data, Filter: a}, true},
		"the same filter, made anew": {[]Want{{Mask: data, Filter: a}},
			Want{Mask: data, Filter: labelled(t, secrets, "app", "a")}, true},
		"another filter":            {[]Want{{Mask: data, Filter: a}}, Want{Mask: data, Filter: b}, false},
		"the same filter, wider":    {[]Want{{Mask: data, Filter: a}}, Want{Mask: meta, Filter: a}, false},
		"all":                       {[]Want{{Mask: data, Filter: a}}, Want{Mask: data}, false},
		"a filter among all":        {[]Want{{Mask: meta}}, Want{Mask: annotations, Filter: a}, true},
		"a filter among all, wider": {[]Want{{Mask: meta}}, Want{Mask: data, Filter: a}, false},
		"a filter that reads more":  {[]Want{{Mask: annotations}}, Want{Mask: annotations, Filter: tier}, false},
		"a filter and all together": {[]Want{{Mask: meta}, {Mask: data, Filter: a}},
			Want{Mask: data.Union(annotations), Filter: a}, true},
		"all, after a filter that had it": {[]Want{{Mask: data, Filter: a}, {Mask: data}}, Want{Mask: data}, true},
		"a filter that all have swallowed": {[]Want{{Mask: data, Filter: a}, {Mask: data}}, Want{Mask: data, Filter: a},
			true},
	} {
		var s *selection
		for _, w := range c.have {
			s = s.withReader(w.Mask, w.Filter)
		}
		if got := s.coversReader(c.want.Mask, c.want.Filter); got != c.is {
			t.Errorf("%s: covered is %v", name, got)
		}
		if s = s.withReader(c.want.Mask, c.want.Filter); !s.coversReader(c.want.Mask, c.want.Filter) {
			t.Errorf("%s: not covered once it is part", name)
		}
	}
}

// BenchmarkSecrets reports the heap of 10,000 secrets of 1 KB where a reader of their data keeps ten, where another one
// reads the labels of all, and without filters.
func BenchmarkSecrets(b *testing.B) {
	const n = 10_000
	data, labels := pathMask(b, secrets, "data", "type"), pathMask(b, secrets, "metadata.labels")
	tokens := labelled(b, secrets, "app", "token")

	for _, c := range []struct {
		name  string
		wants []Want
		kept  int
	}{
		{"unfiltered", []Want{{Mask: data}}, n},
		{"ten match", []Want{{Mask: data, Filter: tokens}}, 10},
		{"ten match, labels of all", []Want{{Mask: data, Filter: tokens}, {Mask: labels}}, n},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				before := heapInUse()
				x := newFixture(b, c.wants...)
				list := make([]any, n)
				for i := range list {
					s := secret(fmt.Sprintf("secret-%05d", i), fmt.Sprint(i+1), map[string]string{"app": "other"})
					if i%1000 == 0 {
						s.Labels["app"] = "token"
					}
					s.Data["password"] = []byte(strings.Repeat("x", 1000))
					list[i] = x.decodedSecret(s)
				}

				x.feed.Replace(list, "10000")
				x.awaitEvents(c.kept)
				x.h.events = nil
				clear(list)
				b.ReportMetric(float64(heapInUse()-before)/1024, "KiB")
				if x.store.Len() != c.kept {
					b.Fatalf("%d objects", x.store.Len())
				}
			}
		})
	}
}

// Those who were there before hear nothing of objects that only the newcomer keeps, and everything of their own.
func TestTakingOverWithMoreObjects(t *testing.T) {
	a, b := map[string]string{"app": "a"}, map[string]string{"app": "b"}
	x := newFixture(t, Want{Mask: pathMask(t, secrets, "data"), Filter: labelled(t, secrets, "app", "a")})
	x.feed.Replace([]any{x.decodedSecret(secret("same", "1", a)), x.decodedSecret(secret("moves", "2", a)),
		x.decodedSecret(secret("drops", "3", a)), x.decodedSecret(secret("not", "4", b))}, "5")
	next := x.wanted.withReader(pathMask(t, secrets, "metadata.annotations"), labelled(t, secrets, "app", "b"))
	wider, err := newFeed(x.resource, next, newContents(nil))
	if err != nil {
		t.Fatal(err)
	}

	x.wider = wider
	second := newRecorder()
	t.Cleanup(x.addHandler(second))
	d := wider.decoder
	wider.Replace([]any{
		decoded(t, d, secret("same", "1", a)), decoded(t, d, secret("moves", "6", b)),
		decoded(t, d, secret("drops", "7", nil)),
		decoded(t, d, secret("not", "4", b)), decoded(t, d, secret("new", "8", a)),
	}, "9")

	got := x.awaitEvents(6)
	if len(got) == 6 {
		slices.Sort(got[4:]) // in any order
	}

	if want := []string{"initial same", "initial moves", "initial drops", "delete? drops", "add? new",
		"update moves"}; !slices.Equal(got, want) {
		t.Errorf("heard %v, want %v", got, want)
	}
	y := &fixture{resource: x.resource, t: t, h: second}
	if got := y.awaitEvents(4); len(got) != 4 || slices.ContainsFunc(got, func(s string) bool {
		return !strings.HasPrefix(s, "initial ")
	}) {
		t.Errorf("the newcomer heard %v", got)
	}
}

// A store keeps what it holds until its last reader has gone, though the others have declared nothing that was new.
func TestTheLastReaderDropsTheStore(t *testing.T) {
	data := Want{Mask: pathMask(t, secrets, "data")}
	x := newFixture(t, data, data)
	x.feed.Replace([]any{x.decodedSecret(secret("kept", "1", nil))}, "2")

	x.releaseOne()
	if n := x.store.Len(); n != 1 || x.feed == nil {
		t.Errorf("%d objects are left with a reader, expected 1", n)
	}
	x.releaseOne()
	if n := x.store.Len(); n != 0 || x.feed != nil {
		t.Errorf("%d objects are left without a reader", n)
	}
}
