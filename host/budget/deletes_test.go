package budget

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/abi"
)

func taker(name string) Taker { return Taker{"c", abi.KeyRef{Name: name}} }

// No minute has more deletes than the bound, and everyone's turn comes, however many they want.
func TestNoMinuteHasMoreThanTheBound(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		bound := 1 + r.IntN(20)
		d := NewDeletes(bound)
		now := time.Unix(1000, 0)
		d.now = func() time.Time { return now }

		want, back := map[string]int{}, map[string]time.Time{}
		for _, name := range []string{"a", "b", "c", "d"} {
			want[name] = r.IntN(3 * bound)
		}

		var sent []time.Time
		for steps := 0; ; steps++ {
			if steps > 10_000 {
				t.Fatalf("seed %d: %v still wait", seed, want)
			}
			idle := true
			for _, name := range []string{"a", "b", "c", "d"} {
				if want[name] == 0 {
					continue
				}
				idle = false
				if now.Before(back[name]) {
					continue
				}
				allowed, wait := d.Take(taker(name), want[name])
				if allowed == 0 && wait <= 0 || allowed > want[name] {
					t.Fatalf("seed %d: %d of %d allowed, wait %v", seed, allowed, want[name], wait)
				}
				back[name] = now.Add(wait)
				want[name] -= allowed
				for range allowed {
					sent = append(sent, now)
				}
			}

			if idle {
				break
			}
			now = now.Add(time.Duration(r.IntN(1000)) * time.Millisecond)
		}

		for i := bound; i < len(sent); i++ {
			// Who comes later than its turn may find the next minute begun by that much.
			if in := sent[i].Sub(sent[i-bound]); in < window-time.Second {
				t.Fatalf("seed %d: %d deletes within %v", seed, bound+1, in)
			}
		}
	}
}

func TestBoundsChange(t *testing.T) {
	d := NewDeletes(0)
	now := time.Unix(1000, 0)
	d.now = func() time.Time { return now }
	if n, wait := d.Take(taker("a"), 1000); n != 1000 || wait != 0 {
		t.Errorf("without a bound: %d, %v", n, wait)
	}
	d.Set(3)
	if n, _ := d.Take(taker("a"), 3); n != 3 {
		t.Errorf("of 3: %d", n)
	}
	now = now.Add(10 * time.Second)
	if n, wait := d.Take(taker("a"), 1); n != 0 || wait != 50*time.Second {
		t.Errorf("of none: %d, %v", n, wait)
	}
	d.Set(5)
	if n, wait := d.Take(taker("b"), 2); n != 2 || wait != 0 {
		t.Errorf("of 2 more: %d, %v", n, wait)
	}
	var none *Deletes
	if n, wait := none.Take(taker("a"), 7); n != 7 || wait != 0 {
		t.Errorf("without a budget: %d, %v", n, wait)
	}
}
