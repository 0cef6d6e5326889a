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

// A key is remembered from its first failure until a sync of it does; what its error says stays as it was, whatever becomes of the memory that it came in.
func TestStuck(t *testing.T) {
	var s stuck
	a, b := Key{Namespace: "shop", Name: "a"}, Key{Namespace: "shop", Name: "b"}
	s.done(a)
	guest, begun := []byte("no quota"), time.Now()
	s.held(a, Failing, "error", errors.New(unsafe.String(&guest[0], len(guest))), time.Minute)
	copy(guest, "garbage!")
	first := *s.keys[a]
	if first.Key != "shop/a" || first.Error != "no quota" || first.Tries != 1 || first.Next.Before(begun.Add(time.Minute)) || s.last.Error != "no quota" {
		t.Errorf("%+v %+v", first, s.last)
	}
	s.held(a, GivenUp, "error", errors.New("no quota at all"), 0)
	if x := s.keys[a]; x.Tries != 2 || x.State != GivenUp || !x.Next.IsZero() || !x.Since.Equal(first.Since) || x.Error != "no quota at all" {
		t.Errorf("%+v", x)
	}
	s.held(b, Failing, "error", apierrors.NewConflict(schema.GroupResource{}, "b", nil), time.Second)
	s.held(b, Deferred, "deferred", errDeferred, time.Second)
	if s.last.Key != "shop/a" {
		t.Errorf("a conflict, or a budget that is used up, is a problem: %+v", s.last)
	}
	s.done(a)
	s.done(b)
	if len(s.keys) != 0 || s.count.Load() != 0 || s.last == nil {
		t.Errorf("%d keys, %d counted, last %+v", len(s.keys), s.count.Load(), s.last)
	}
}

// However many keys fail, and however much they say, what is remembered has a bound.
func TestStuckIsBounded(t *testing.T) {
	var s stuck
	long := errors.New(strings.Repeat("€", stuckText))
	for i := range 2 * stuckMost {
		s.held(Key{Name: fmt.Sprint(i)}, Failing, "error", long, time.Second)
	}
	if len(s.keys) != stuckMost || int(s.count.Load()) != stuckMost {
		t.Errorf("%d keys", len(s.keys))
	}
	for _, x := range s.keys {
		if n := len(x.Error); n > stuckText+len("…") || n < stuckText-3 || !strings.HasSuffix(x.Error, "€…") {
			t.Fatalf("%d bytes of an error: …%q", n, x.Error[n-8:])
		}
	}
	if n := testing.AllocsPerRun(100, func() { s.done(Key{Name: "another"}) }); n != 0 {
		t.Errorf("a sync that does allocates %v times", n)
	}
}
