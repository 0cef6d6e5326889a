package horizontalpodautoscaler

import (
	"testing"

	"github.com/windlass-dev/windlass/test/golden"
)

func TestGolden(t *testing.T) { golden.Run(t, Plugin, "testdata") }

func TestWakes(t *testing.T) { golden.Wakes(t, Plugin, "testdata/wakes.yaml") }
