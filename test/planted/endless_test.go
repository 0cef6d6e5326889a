package planted

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/sdk/plugintest"
	"github.com/windlass-dev/windlass/test/planted/endless"
)

// mistakeVariable has this test run a plugin that doesn't end, in a process of its own.
const mistakeVariable = "PLANTED_ENDLESS"

// A test whose plugin loops for ever fails by itself and names the function; tests after it fail at once.
func TestEndless(t *testing.T) {
	if mistake := os.Getenv(mistakeVariable); mistake != "" {
		p := endless.Plugin(mistake)
		t.Run("first", func(t *testing.T) { plugintest.Run(t, p, options) })
		t.Run("second", func(t *testing.T) { plugintest.Run(t, p, options) })
		return
	}

	for _, x := range []struct{ mistake, function string }{
		{"tight", "endless.spin"},
		{"calling", "endless.search"},
		{"clock", "endless.spin"},
		{"settings", "endless.spin"},
	} {
		t.Run(x.mistake, func(t *testing.T) {
			t.Parallel()
			c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEndless$", "-test.v", "-synclimit=2s")
			c.Env = append(os.Environ(), mistakeVariable+"="+x.mistake)
			out, err := c.CombinedOutput()
			if err == nil {
				t.Fatalf("it passes:\n%s", out)
			}
			for _, says := range []string{
				"an endless loop in github.com/windlass-dev/windlass/test/planted/" + x.function + " at ",
				"endless/endless.go:",
				"--- FAIL: TestEndless/first",
				"--- FAIL: TestEndless/second",
				"not run, for something before it hasn't ended: TestEndless/first",
			} {
				if !strings.Contains(string(out), says) {
					t.Errorf("it doesn't say %q:\n%s", says, out)
				}
			}
		})
	}
}
