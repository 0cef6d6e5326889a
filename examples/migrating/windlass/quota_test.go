package quota

import (
	"testing"

	"github.com/windlass-dev/windlass/test/golden"
)

func TestGolden(t *testing.T) { golden.Run(t, Plugin, "testdata") }
