package deployment

import (
	"testing"

	"github.com/windlass-dev/windlass/sdk/plugintest"
)

func TestSimulation(t *testing.T) {
	plugintest.Run(t, Plugin, plugintest.Options{With: []string{"builtin:replicaset"}, Seeds: 4})
}
