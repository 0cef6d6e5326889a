package record

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/budget"
	"github.com/windlass-dev/windlass/test/worlds"
)

func testSource(name string) *Source {
	return &Source{Plugin: name, Version: "1.0", Digest: DigestOf([]byte(name)),
		Manifest: &abi.Manifest{Name: name, Controllers: []abi.Controller{{
			Name: name, Views: []abi.View{{Name: "configs", Resource: abi.Resource{Version: "v1", Name: "configmaps"}},
				{Name: "secrets", Resource: abi.Resource{Version: "v1", Name: "secrets"}}},
		}}}}
}

func request(size int) []byte {
	return abi.AppendRequest(nil, &abi.SyncRequest{Key: abi.KeyRef{Namespace: "default", Name: "web"}, Now: 1,
		Views: []abi.ViewData{{Objects: []abi.ObjectData{{Data: make([]byte, size)}}}}})
}

// A ring holds the last syncs, whole and in their order, never more bytes than its bound, whatever their sizes.
func TestRingHoldsTheLastSyncs(t *testing.T) {
	const most = 20_000
	random := rand.New(rand.NewPCG(1, 2))
	r := NewRing("c", most)
	old, next := r.Recorder(testSource("old")), r.Recorder(testSource("next"))
	var all []Sync
	for i := range worlds.Number(2000) {
		want := Sync{Key: abi.KeyRef{Namespace: "default", Name: fmt.Sprint(i)}, Result: "ok",
			Request: request(random.IntN(3000)), Answer: []byte{}, Answered: true}
		recorder := old
		if i >= 1500 {
			recorder = next
		}
		rec := recorder.Begin(want.Key, time.Unix(0, int64(i+1)))
		rec.Request(want.Request)
		for range random.IntN(3) {
			p := Perform{In: bytes.Repeat([]byte{1}, random.IntN(100)), Out: bytes.Repeat([]byte{2}, random.IntN(100))}
			rec.Performed(p.In, p.Out, nil)
			want.Performs = append(want.Performs, p)
		}
		if i%7 == 0 {
			want.Performs = append(want.Performs, Perform{In: []byte{3}, Refused: "no"})
			rec.Performed([]byte{3}, nil, errors.New("no"))
			want.Answered, want.Answer, want.Result, want.Error = false, nil, "trap", "it trapped"
			rec.End("trap", errors.New("it trapped"))
		} else {
			rec.Answered(want.Answer)
			rec.End("ok", nil)
		}
		all = append(all, want)
		syncs, used := r.Len()
		if used > most || syncs == 0 {
			t.Fatalf("after %d syncs the ring holds %d in %d bytes", i+1, syncs, used)
		}
		if i%50 != 0 && i != 1999 {
			continue
		}
		f := r.File()
		if len(f.Syncs) != syncs {
			t.Fatalf("%d syncs in the file, %d in the ring", len(f.Syncs), syncs)
		}
		for j := range f.Syncs {
			got, want := f.Syncs[j], all[len(all)-syncs+j]
			if source := f.Sources[got.Source].Plugin; source != map[bool]string{true: "next",
				false: "old"}[got.Start.UnixNano() > 1500] {
				t.Errorf("sync %s ran on %s", got.Key.Name, source)
			}
			got.Source, got.Bytes, got.Took, got.Start = 0, 0, 0, want.Start
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("sync %d of %d (-recorded +read):\n%s", j, syncs, d)
			}
		}
	}

	if f := r.File(); len(f.Sources) != 1 || len(f.Syncs) < 5 {
		t.Errorf("%d sources, %d syncs: a source goes with the last of its syncs", len(f.Sources), len(f.Syncs))
	}
}

func TestLargeSyncsAreKeptWithoutTheirBytes(t *testing.T) {
	r := NewRing("c", 10_000)
	rec := r.Recorder(testSource("p")).Begin(abi.KeyRef{Name: "large"}, time.Unix(7, 0))
	large := request(20_000)
	rec.Request(large)
	rec.Answered([]byte{1})
	rec.End("ok", nil)
	f := r.File()
	if len(f.Syncs) != 1 {
		t.Fatalf("%d syncs", len(f.Syncs))
	}
	got := f.Syncs[0]
	got.Took = 0
	want := Sync{Key: abi.KeyRef{Name: "large"}, Start: time.Unix(7, 0), Result: "ok", Bytes: len(large) + 1, Cut: true}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestNothingIsRecordedByNil(t *testing.T) {
	var ring *Ring
	rec := ring.Recorder(nil).Begin(abi.KeyRef{}, time.Now())
	rec.Request(nil)
	rec.Performed(nil, nil, nil)
	rec.Answered(nil)
	rec.End("ok", nil)
	if n, _ := ring.Len(); n != 0 || rec != nil {
		t.Error("something was recorded")
	}
	off := NewRing("c", -1)
	rec = off.Recorder(testSource("p")).Begin(abi.KeyRef{}, time.Now())
	rec.Request(request(10))
	rec.End("ok", nil)
	if n, bytes := off.Len(); n != 0 || bytes != 0 {
		t.Errorf("a ring without room holds %d syncs", n)
	}
}

func TestRecordingAllocatesNothingOnceWarm(t *testing.T) {
	r := NewRing("c", 1<<20)
	recorder, key, call, start := r.Recorder(testSource("p")), abi.KeyRef{Name: "web"}, request(1000), time.Now()
	sync := func() {
		rec := recorder.Begin(key, start)
		rec.Request(call)
		rec.Performed(call[:10], call[:20], nil)
		rec.Answered(call[:30])
		rec.End("ok", nil)
	}
	for range 2000 {
		sync()
	}
	if n := testing.AllocsPerRun(1000, sync); n >= 1 { // less: the pool's own, after a collection
		t.Errorf("%v allocations a sync", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	for _, c := range []struct {
		name       string
		size, ring int
	}{{"empty", 0, DefaultBytes}, {"450KB-beyond-ring", 450_000, DefaultBytes}, {"450KB-in-4MiB", 450_000, 4 << 20}} {
		b.Run(c.name, func(b *testing.B) {
			recorder, key, call, start := NewRing("c", c.ring).Recorder(testSource("p")),
				abi.KeyRef{Namespace: "default", Name: "web"}, request(c.size), time.Now()
			b.ReportAllocs()
			for b.Loop() {
				rec := recorder.Begin(key, start)
				rec.Request(call)
				rec.Answered(nil)
				rec.End("ok", nil)
			}
		})
	}
}

// What a ring has counts in its plugin's memory, whose half it takes at most; it is given back where the ring gets
// smaller or is another plugin's.
func TestRingCountsInMemory(t *testing.T) {
	total := budget.NewTotal(1 << 30)
	m, other := budget.NewMemory("p", 60_000, total, nil), budget.NewMemory("q", 60_000, total, nil)
	r := NewRing("c", 1<<20)
	r.CountIn(m)
	record := func(size int) (kept int) {
		t.Helper()
		before, _ := r.Len()
		s := r.Recorder(testSource("p")).Begin(abi.KeyRef{Name: "a"}, time.Now())
		s.Request(make([]byte, size))
		s.End("ok", nil)
		after, _ := r.Len()
		return after - before
	}
	held := func(m *budget.Memory, want int) {
		t.Helper()
		if n := m.Held(budget.Recordings); n != int64(want) || int(n) != len(r.buf) && want > 0 {
			t.Errorf("%d bytes are held, want %d; the ring has %d", n, want, len(r.buf))
		}
	}

	for range 2 {
		if record(10_000) != 1 {
			t.Error("a sync isn't kept that there is room for")
		}
	}
	if n := m.Held(budget.Recordings); n < 20_000 || n > 30_000 {
		t.Errorf("%d bytes are held, of 30000", n)
	}
	if record(10_000); len(r.buf) > 30_000 {
		t.Errorf("the ring has %d bytes, more than half of the plugin's memory", len(r.buf))
	}
	if record(40_000) != 0 {
		t.Error("a sync is kept that there is no room for")
	}
	held(m, len(r.buf))

	r.CountIn(other)
	held(m, 0)
	held(other, len(r.buf))
	r.Resize(1000)
	held(other, 1000)
	if err := other.Take(budget.Instances, 58_000); err != nil {
		t.Fatal(err)
	}
	r.Resize(1 << 20)
	if record(5000) != 0 {
		t.Error("a sync is kept where instances have all memory")
	}
}

// A ring whose size is changed while it is in use keeps the newest syncs that there is room for.
func TestRingIsResized(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	r := NewRing("c", 5000)
	recorder := r.Recorder(testSource("p"))
	most := 5000
	for i := range worlds.Number(3000) {
		running := recorder.Begin(abi.KeyRef{Name: fmt.Sprint(i)}, time.Unix(0, int64(i+1)))
		running.Request(request(random.IntN(500)))
		if i%20 == 10 {
			before, _ := r.Len()
			most = max(random.IntN(10_000)-500, 0)
			r.Resize(most - 1 + min(most, 1)) // a bound of 0 is said as -1
			if after, bytes := r.Len(); bytes > most || after > before || after < before && bytes+1000 < most {
				t.Fatalf("resized to %d: %d of %d syncs are left in %d bytes", most, after, before, bytes)
			}
		}

		running.Answered([]byte("x"))
		running.End("ok", nil)
		f := r.File()
		if _, bytes := r.Len(); bytes > most || most > 2000 && len(f.Syncs) == 0 {
			t.Fatalf("%d syncs in %d bytes, the bound is %d", len(f.Syncs), bytes, most)
		}

		for j, s := range f.Syncs {
			if want := fmt.Sprint(i - len(f.Syncs) + 1 + j); s.Key.Name != want && most > 2000 {
				t.Fatalf("after %d syncs the one at %d of %d is %s", i+1, j, len(f.Syncs), s.Key.Name)
			}
		}
	}
}
