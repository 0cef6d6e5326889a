package golden

import (
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/host/golden"
	"github.com/windlass-dev/windlass/sdk"
)

// Wakes checks what a file says of the events that wake keys.
func Wakes(t *testing.T, p *sdk.Plugin, file string) {
	t.Helper()
	w, err := golden.LoadWakings(file)
	if err != nil {
		t.Fatal(err)
	}
	m := p.Manifest()
	index, err := golden.Controller(m, w.Controller)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for i := range w.Events {
		e := &w.Events[i]
		t.Run(e.What, func(t *testing.T) {
			woken, err := w.Wake(&m.Controllers[index], e)
			if err != nil {
				t.Fatal(err)
			}
			if slices.Sort(e.Wakes); !slices.Equal(woken, e.Wakes) {
				t.Errorf("wakes %v, should wake %v", woken, e.Wakes)
			}
		})
	}
}
