package quota

import (
	"testing"

	"github.com/windlass-dev/windlass/sdk/plugintest"
)

func TestGolden(t *testing.T) { plugintest.Golden(t, Plugin, "testdata") }
