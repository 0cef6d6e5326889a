package author_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/cmd/windlass/answer/answertest"
	"github.com/windlass-dev/windlass/cmd/windlass/author"
	"github.com/windlass-dev/windlass/cmd/windlass/running"
	"github.com/windlass-dev/windlass/host/plugins"
	builtin "github.com/windlass-dev/windlass/plugins"
	"github.com/windlass-dev/windlass/test/worlds"
)

func TestMain(m *testing.M) {
	answertest.Main(m, answertest.CommandLine(append(author.Commands(), running.Commands()...)...))
}

// Every built-in plugin can be looked at, either way.
func TestInspect(t *testing.T) {
	names := builtin.Names()
	if len(names) == 0 {
		t.Fatal("no built-in plugins: run make build first")
	}

	for _, name := range names[:worlds.Number(len(names))] {
		cmd, stdout, stderr := answertest.Command(t, "plugin", "inspect", "builtin:"+name)
		if err := cmd.Run(); err != nil {
			t.Errorf("%v: %s", err, stderr)
			continue
		}
		cmd, asJSON, stderr := answertest.Command(t, "plugin", "inspect", "builtin:"+name, "-o", "json")
		if err := cmd.Run(); err != nil {
			t.Errorf("%v: %s", err, stderr)
			continue
		}
		var fromYAML, fromJSON plugins.Inspection
		if err := yaml.UnmarshalStrict(stdout.Bytes(), &fromYAML); err != nil {
			t.Error(err)
		}
		if err := json.Unmarshal(asJSON.Bytes(), &fromJSON); err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(fromYAML, fromJSON); d != "" || fromYAML.Manifest.Name != name ||
			!slices.Contains(fromYAML.Exports, "windlass_alloc(i32)->i32") {
			t.Errorf("%s: %s\n%s", name, d, stdout)
		}
	}
}
