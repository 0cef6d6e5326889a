package running

import (
	"testing"

	"github.com/windlass-dev/windlass/cmd/windlass/answer/answertest"
)

func TestMain(m *testing.M) { answertest.Main(m, answertest.CommandLine(Commands()...)) }
