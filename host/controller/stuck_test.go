package controller

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A key is remembered from its first failure until a sync of it does; what its error says stays as it was, whatever
// becomes of the memory that it came in.
func TestStuck(t *testing.T) {
	var s stuck
	a, b := Key{Namespace: "shop", Name: "a"}, Key{Namespace: "shop", Name: "b"}
	s.markDone(a)
	guest, begun := []byte("no quota"), time.Now()
	s.markHeld(a, Failing, "error", errors.New(unsafe.String(&guest[0], len(guest))), time.Minute)
	copy(guest, "garbage!")
	first := *s.keys[a]
	if first.Key != "shop/a" || first.Error != "no quota" || first.Tries != 1 ||
		first.Next.Before(begun.Add(time.Minute)) || s.last.Error != "no quota" {
		t.Errorf("%+v %+v", first, s.last)
	}

	s.markHeld(a, GivenUp, "error", errors.New("no quota at all"), 0)
	if x := s.keys[a]; x.Tries != 2 || x.State != GivenUp || !x.Next.IsZero() || !x.Since.Equal(first.Since) ||
		x.Error != "no quota at all" {
		t.Errorf("%+v", x)
	}

	s.markHeld(b, Failing, "error", apierrors.NewConflict(schema.GroupResource{}, "b", nil), time.Second)
	s.markHeld(b, Deferred, "deferred", errDeferred, time.Second)
	if s.last.Key != "shop/a" {
		t.Errorf("a conflict, or a budget that is used up, is a problem: %+v", s.last)
	}

	s.markDone(a)
	s.markDone(b)
	if len(s.keys) != 0 || s.count.Load() != 0 || s.last == nil {
		t.Errorf("%d keys, %d counted, last %+v", len(s.keys), s.count.Load(), s.last)
	}
}

// Keys that say the same but for names that come of their own have one cause.
func TestCauses(t *testing.T) {
	var s stuck
	held := func(namespace, name, text string) {
		s.markHeld(Key{Namespace: namespace, Name: name}, Failing, "error", errors.New(text), time.Second)
	}
	held("shop", "web-66", `pods "web-66-vrcbt" is forbidden: failed quota: none: in shop`)
	held("shop", "api-7", `pods "api-7-x" is forbidden: failed quota: none: in shop`)
	held("alley", "a", `pods "a-0" is forbidden: failed quota: none: in alley`)
	held("shop", "b", `pods "b-1" is forbidden: failed quota: other: in shop`)
	s.markHeld(Key{Name: "c"}, Parked, "stale", errors.New("young"), 0)

	all := s.groupCauses()
	if len(all) != 2 || all[0].Keys != 3 || all[0].Oldest.Key != "shop/web-66" || all[1].Keys != 1 ||
		all[1].Oldest.Key != "shop/b" {
		t.Errorf("%+v", all)
	}
	if want := `pods "…" is forbidden: failed quota: none: in …`; all[0].Text != want {
		t.Errorf("got %s, want %s", all[0].Text, want)
	}

	for i := range stuckMost {
		held("shop", "z", "x")
		held("", fmt.Sprint("n", i), fmt.Sprint("error ", i))
	}
	if n := len(s.groupCauses()); n != causesMost {
		t.Errorf("%d causes", n)
	}
}

// However many keys fail, and however much they say, what is remembered has a bound.
func TestStuckIsBounded(t *testing.T) {
	var s stuck
	long := errors.New(strings.Repeat("€", stuckText))
	for i := range 2 * stuckMost {
		s.markHeld(Key{Name: fmt.Sprint(i)}, Failing, "error", long, time.Second)
	}
	if len(s.keys) != stuckMost || int(s.count.Load()) != stuckMost {
		t.Errorf("%d keys", len(s.keys))
	}
	for _, x := range s.keys {
		if n := len(x.Error); n > stuckText+len("…") || n < stuckText-3 || !strings.HasSuffix(x.Error, "€…") {
			t.Fatalf("%d bytes of an error: …%q", n, x.Error[n-8:])
		}
	}
	if n := testing.AllocsPerRun(100, func() { s.markDone(Key{Name: "another"}) }); n != 0 {
		t.Errorf("a sync that does allocates %v times", n)
	}
}
