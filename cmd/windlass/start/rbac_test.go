package start

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/cmd/windlass/answer/answertest"
	"github.com/windlass-dev/windlass/host/plugins/oci/registrytest"
)

// The roles of a plugin from a registry are those of its manifest.
func TestRolesOfImages(t *testing.T) {
	r := registrytest.Start(t, registrytest.Options{})
	cmd, stdout, stderr := answertest.Command(t, "plugin", "push", "builtin:replicaset", r.Host+"/replicaset",
		"--plain-http", r.Host)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	file := filepath.Join(t.TempDir(), "windlass.yaml")
	text := "apiVersion: config.windlass.dev/v1alpha1\nkind: ControllerManagerConfiguration\nregistries: {plainHTTP: [\"" +
		r.Host + "\"], cacheFolder: " + filepath.Join(t.TempDir(), "modules") +
		"}\nplugins: [{name: NAME, image: \"" + strings.TrimSpace(stdout.String()) + "\"}]\n"
	for name, want := range map[string]string{"replicaset": "name: windlass:replicaset",
		"deployment": `plugin "deployment": image ` + r.Host} {
		if err := os.WriteFile(file, []byte(strings.Replace(text, "NAME", name, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd, stdout, stderr := answertest.Command(t, "rbac", "replicaset", "--config", file)
		if err := cmd.Run(); (err == nil) != (name == "replicaset") ||
			!strings.Contains(stdout.String()+stderr.String(), want) {
			t.Errorf("%s: %v: %s%s", name, err, stdout, stderr)
		}
	}
}
