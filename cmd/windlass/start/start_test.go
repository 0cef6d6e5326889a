package start

import (
	"os"
	"testing"

	"github.com/windlass-dev/windlass/cmd/windlass/answer"
	"github.com/windlass-dev/windlass/cmd/windlass/answer/answertest"
	"github.com/windlass-dev/windlass/cmd/windlass/author"
	"github.com/windlass-dev/windlass/host/process"
	_ "github.com/windlass-dev/windlass/host/process/begin" // the process may be a guardian
)

func TestMain(m *testing.M) {
	answertest.Main(m, func() {
		root := answertest.Root(append(Commands(), author.Commands()...)...)
		ctx, _ := process.UntilSignalled(func() { os.Exit(1) })
		os.Exit(answer.Execute(ctx, root, Arguments(os.Args)))
	})
}
