package webapp

import (
	"testing"

	"github.com/windlass-dev/windlass/sdk/plugintest"
)

func TestGolden(t *testing.T) { plugintest.Golden(t, Plugin, "testdata") }

// TestSimulated has the controller live in a simulated cluster, where it crashes, sees old caches, and is refused
// writes.
func TestSimulated(t *testing.T) {
	plugintest.Run(t, Plugin, plugintest.Options{})
}
