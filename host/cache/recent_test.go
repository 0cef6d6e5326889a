package cache

import "testing"

func TestForgetsTheFirst(t *testing.T) {
	s := NewRecent[int](3)
	for i := range 5 {
		s.Add(i)
		s.Add(i) // again is no news
	}
	for i, want := range []bool{false, false, true, true, true} {
		if s.Has(i) != want {
			t.Errorf("Has(%d) is %v", i, !want)
		}
	}
	if len(s.known) != 3 || len(s.ring) != 3 {
		t.Errorf("%d and %d are kept", len(s.known), len(s.ring))
	}
	s.Clear()
	if s.Has(4) || len(s.ring) != 0 {
		t.Error("something is left")
	}
}
