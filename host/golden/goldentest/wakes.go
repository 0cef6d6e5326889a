package goldentest

import (
	"testing"

	"github.com/windlass-dev/windlass/host/golden"
	"github.com/windlass-dev/windlass/sdk"
)

// Wakes checks what a file says of the events that wake keys.
func Wakes(t *testing.T, p *sdk.Plugin, file string) {
	t.Helper()
	all, err := golden.CheckWakes(p.Manifest(), file)
	if err != nil {
		t.Fatal(err)
	}

	for _, x := range all {
		t.Run(x.What, func(t *testing.T) {
			if x.Wrong != "" {
				t.Error(x.Wrong)
			}
		})
	}
}
