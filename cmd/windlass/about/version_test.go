package about

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/cmd/windlass/answer/answertest"
)

func TestMain(m *testing.M) { answertest.Main(m, answertest.CommandLine(Commands()...)) }

func TestVersion(t *testing.T) {
	cmd, stdout, stderr := answertest.Command(t, "version")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	for _, want := range []string{"windlass    ", "abi         v1\n", "go          go1.", "kubernetes  "} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in:\n%s", want, stdout)
		}
	}
}
