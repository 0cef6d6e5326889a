package views

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/test/worlds"
)

// Plans that an event goes through together, remembering what one of them has read and looked up, wake the keys that
// each of them wakes by itself.
func TestPlansTogetherWakeWhatEachWakesAlone(t *testing.T) {
	woken := 0
	for seed := range uint64(worlds.Number(60)) {
		r := rand.New(rand.NewPCG(seed, 2))
		controllers := slices.Concat(shapes, shapes[:4]) // some twice
		for range 8 {
			controllers = append(controllers, randomController(r))
		}

		var plans []*Plan
		for i := range controllers {
			p, err := Compile(&controllers[i])
			if err != nil {
				t.Fatal(err)
			}
			plans = append(plans, p)
		}

		w, err := newWorld(plans...)
		if err != nil {
			t.Fatal(err)
		}

		together := make([]map[abi.KeyRef]time.Duration, len(plans))
		routers := map[abi.Resource]*Router{}
		for res := range w.stores {
			routers[res] = NewRouter(w, res)
			for i, p := range plans {
				if err := routeEvents(routers[res], p, res, func(k abi.KeyRef, delay time.Duration) {
					together[i][k] = delay
				}); err != nil {
					t.Fatal(err)
				}
			}
		}

		all := schema.Sorted(w.stores)
		for range 150 {
			e, changed := w.randomEvent(r, all)
			if !changed {
				continue
			}
			for i := range plans {
				together[i] = map[abi.KeyRef]time.Duration{}
			}
			routers[e.Resource.Resource].OnEvent(e)
			for i, p := range plans {
				if !slices.Contains(anyPool, e.Resource.Resource) &&
					slices.ContainsFunc(p.resources, (*resourcePlan).overAllResources) {
					continue // views over all resources don't hear of it in these worlds
				}
				alone := map[abi.KeyRef]time.Duration{}
				p.Wakes(w, e, nil, func(k abi.KeyRef, delay time.Duration) { alone[k] = delay })
				if !maps.Equal(alone, together[i]) {
					reportFailure(t, seed, &controllers[i],
						fmt.Errorf("an event of %s wakes %v with the others, %v alone", e.Resource.Resource, together[i], alone))
				}
				woken += len(alone)
			}
		}
	}

	if woken == 0 {
		t.Error("no event woke anything")
	}
}

// Texts have numbers of their own, until there are none left.
func TestNumbers(t *testing.T) {
	var n numbers
	if a, b, again := n.numberOf("a"), n.numberOf("b"), n.numberOf("a"); a == b || a != again || a == unnumbered ||
		b == unnumbered {
		t.Errorf("a %d and %d, b %d", a, again, b)
	}
	for i := range 2 * numbersMax {
		n.numberOf(fmt.Sprint(i))
	}
	if a, late := n.numberOf("a"), n.numberOf("late"); a == unnumbered || late != unnumbered ||
		len(n.known) != numbersMax {
		t.Errorf("a %d, late %d, %d numbers", a, late, len(n.known))
	}
}
