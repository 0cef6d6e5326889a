package views

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/test/worlds"
)

// reportFailure prints a failing world so that it can be run again.
func reportFailure(t *testing.T, seed uint64, c *abi.Controller, err error) {
	t.Helper()
	m, _ := json.Marshal(c)
	t.Fatalf("seed %d: %v\n%s", seed, err, m)
}

// TestEveryChangedKeyIsWoken is the promise of the package, on controllers of a grammar.
func TestEveryChangedKeyIsWoken(t *testing.T) {
	f := &figures{}
	for seed := uint64(1); f.events < worlds.Number(40_000); seed++ {
		c := randomController(rand.New(rand.NewPCG(seed, 0)))
		if err := runWorld(seed, &c, 100, f); err != nil {
			reportFailure(t, seed, &c, err)
		}
	}
	t.Log(f)
}

// TestLateEventsLoseNoKey is the promise where the caches are ahead of the events.
func TestLateEventsLoseNoKey(t *testing.T) {
	f := &figures{}
	for seed := uint64(1); f.events < worlds.Number(40_000); seed++ {
		c := randomController(rand.New(rand.NewPCG(seed, 0)))
		if err := runLate(seed, &c, 250, f); err != nil {
			reportFailure(t, seed, &c, err)
		}
	}
	t.Logf("%d worlds, %d events, %d wake-ups, %d snapshots compared", f.worlds, f.events, f.woken, f.snapshots)
}

// TestShapesOfRealControllers is the promise, on views as real controllers declare them.
func TestShapesOfRealControllers(t *testing.T) {
	for _, c := range shapes {
		t.Run(c.Name, func(t *testing.T) {
			sure, late := &figures{}, &figures{}
			for seed := uint64(1); sure.events < worlds.Number(2_500); seed++ {
				c := c
				if err := runWorld(seed, &c, 150, sure); err != nil {
					reportFailure(t, seed, &c, err)
				}
			}
			for seed := uint64(1); late.events < worlds.Number(1_500); seed++ {
				c := c
				c.Views = slices.Clone(c.Views)
				if err := runLate(seed, &c, 300, late); err != nil {
					reportFailure(t, seed, &c, err)
				}
			}
			t.Log(sure)
		})
	}
}
