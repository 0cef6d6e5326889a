package quota

import (
	"testing"

	"github.com/windlass-dev/windlass/host/golden/goldentest"
)

func TestGolden(t *testing.T) { goldentest.Run(t, Plugin, "testdata") }
