package differential

import (
	"runtime/debug"

	"github.com/go-logr/logr"
	"go.yaml.in/yaml/v2"
	"k8s.io/klog/v2"

	_ "github.com/windlass-dev/windlass/differential/unmeasured"
	"github.com/windlass-dev/windlass/sdk"
)

// What controllers log of failures that a world has planned would fill the screen.
func init() {
	klog.SetLogger(logr.Discard())
	sdk.Logged = func(string) {}
}

// Worlds leave much behind at once, and memory is plenty: the collector would take a tenth of the time.
func init() { debug.SetGCPercent(800) }

// A message stays on its line, so that rules can speak of it.
func init() { yaml.FutureLineWrap() }
