package start

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/cmd/windlass/answer/answertest"
)

// A configuration is checked with the plugins that it names, and what of it a running windlass doesn't apply is told.
func TestValidate(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		text = "apiVersion: config.windlass.dev/v1alpha1\nkind: ControllerManagerConfiguration\n" + text
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	before := write("before.yaml", "leaderElection: {leaderElect: false}\n")

	for text, want := range map[string]string{
		"leaderElection: {leaderElect: false}\n": "The configuration is valid.\n",
		"leaderElection: {leaderElect: false, standby: warm}\nserving: {port: 1}\nuseServiceAccountCredentials: true\n": "The configuration is valid.\nRead at the start only, a running windlass waits for a restart: leaderElection.standby, serving.port\n",
		"plugins: [{name: nobody}]\n":                                     `no plugin "nobody" was found`,
		"plugins: [{name: replicaset, settings: {nothing: x}}]\n":         "settings[nothing]",
		"plugins: [{name: replicaset, controllers: [{name: nothing}]}]\n": "controllers[nothing]",
		"plugins: [{name: replicaset, file: x.wasm}]\n":                   "needs pluginFolder",
		"controllers: [nothing]\n":                                        "not in the list of known controllers",
		"leaderElection: {groups: [{name: a, controllers: [nothing]}]}\n": "leaderElection.groups[0]",
	} {
		cmd, stdout, stderr := answertest.Command(t, "config", "validate", "--config", write("windlass.yaml", text),
			"--running", before)
		err := cmd.Run()
		valid := strings.HasPrefix(want, "The configuration")
		if (err == nil) != valid || valid && stdout.String() != want ||
			!strings.Contains(stdout.String()+stderr.String(), want) {
			t.Errorf("%s: %v\n%s%s", text, err, stdout, stderr)
		}
	}
}
