package views

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/test/worlds"
)

// An index is left alone by an update that changes nothing of what it says it reads: then its values are the same.
func TestIndexersSayWhatTheyRead(t *testing.T) {
	controllers := slices.Clone(shapes)
	for seed := range uint64(worlds.Number(300)) {
		controllers = append(controllers, randomController(rand.New(rand.NewPCG(seed, 0))))
	}
	var changed schema.Bits

	same, others := 0, 0
	for i := range controllers {
		p, err := Compile(&controllers[i])
		if err != nil {
			t.Fatal(err)
		}

		w, err := newWorld(p)
		if err != nil {
			t.Fatal(err)
		}

		r, all := rand.New(rand.NewPCG(uint64(i), 1)), resourcesOf(&controllers[i])
		for range 150 {
			e, _ := w.randomEvent(r, all)
			if e.Old == nil || e.New == nil || e.Old.UID != e.New.UID {
				continue
			}

			for _, n := range w.wants[e.Resource.Resource] {
				for name, x := range n.Indexers {
					leaves, err := e.Resource.Message.Leaves(x.Reads)
					if err == nil {
						err = leaves.Changed(e.Old.Raw, e.New.Raw, &changed)
					}
					if err != nil {
						t.Fatalf("index %q: %v", name, err)
					}
					if changed.Any() {
						others++
						continue
					}
					same++
					if before, after := x.Values(e.Old), x.Values(e.New); !slices.Equal(before, after) {
						reportFailure(t, uint64(i), &controllers[i],
							fmt.Errorf("index %q of %s has %q, then %q, and says it reads %q", name, n.Resource, before, after, x.Reads))
					}
				}
			}
		}
	}

	if same == 0 || others == 0 {
		t.Errorf("%d times an index could be left alone, %d times not: nothing was compared", same, others)
	}
	t.Logf("%d times an index could be left alone, %d times not", same, others)
}
