package console

import (
	"os"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/pages"
)

// documented runs the commands of docs/console.md as they stand there, and compares what they print.
func documented(t *testing.T, w *world) {
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	run := pages.Follow(t, "../../docs/console.md", pages.Reader{
		Run: func(command string) string {
			args, ok := strings.CutPrefix(command, "windlass ")
			if !ok {
				t.Fatalf("docs/console.md: $ %s is no command of windlass", command)
			}
			got, _ := w.runWindlass(t, strings.Fields(args)...)
			got = strings.ReplaceAll(got, " --server "+w.host.Address, "") // people ask the one on their machine
			return strings.ReplaceAll(got, name, "control-plane-1")
		},
		Looks:  func(string) bool { return true },
		Update: *update,
	})
	if run < 4 {
		t.Errorf("docs/console.md has %d commands", run)
	}
}
