// Package badinput runs the windlass binary on what people get wrong.
package badinput

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// program is the windlass that make build has left.
var program = windlass.Program()

// head begins a configuration file.
const head = "apiVersion: config.windlass.dev/v1alpha1\nkind: ControllerManagerConfiguration\n"

// klogLine is a line of the log; what isn't one is said to a person.
var klogLine = regexp.MustCompile(`^[IWEF]\d{4} `)

// checkMessage demands that stderr tells what is wrong in one line that has all the parts, and nothing but that and the
// log.
func checkMessage(t *testing.T, stderr string, parts ...string) {
	t.Helper()
	checkNoDump(t, stderr)
	var said []string
	for line := range strings.Lines(stderr) {
		if !klogLine.MatchString(line) {
			said = append(said, line)
		}
	}
	if len(said) != 1 || !strings.HasPrefix(said[0], "windlass: ") {
		t.Fatalf("want one line that begins with windlass: beside the log's, got\n%s", stderr)
	}
	for _, p := range parts {
		if !strings.Contains(said[0], p) {
			t.Errorf("doesn't say %q: %s", p, said[0])
		}
	}
}

func checkNoDump(t *testing.T, stderr string) {
	t.Helper()
	for _, dump := range []string{"panic:", "goroutine ", "runtime error"} {
		if strings.Contains(stderr, dump) {
			t.Fatalf("a dump:\n%s", stderr)
		}
	}
}

// A bad input is one line on stderr that names the file, the field or the plugin, and what to do; the exit code is 1.
func TestOneClearError(t *testing.T) {
	folder := t.TempDir()
	badModules(t, folder)
	file := func(name, content string) string {
		path := filepath.Join(folder, name)
		writeFile(t, path, []byte(content))
		return path
	}

	const context = "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\nclusters: [{name: c, cluster: {server: %q}}]\n"
	server := nobodyListens(t)
	var (
		badValue    = file("value.yaml", head+"plugins:\n- name: replicaset\n  workers: -3\n")
		badType     = file("type.yaml", head+"clientConnection:\n  qps: fast\n")
		misspelt    = file("misspelt.yaml", head+"contollers: [replicaset]\n")
		wrongKind   = file("kind.yaml", "apiVersion: apps/v1\nkind: Deployment\n")
		twice       = file("twice.yaml", head+"plugins:\n- name: replicaset\n- name: replicaset\n")
		noPlugin    = file("plugin.yaml", head+"plugins:\n- name: replicasset\n")
		noKubeconf  = filepath.Join(folder, "nowhere.kubeconfig")
		badKubeconf = file("bad.kubeconfig", "}{ not yaml")
		good        = file("good.kubeconfig", fmt.Sprintf(context, server))
		noFolder    = filepath.Join(folder, "nowhere")
	)

	type row struct {
		name string
		args []string
		says []string
	}

	rows := []row{
		{"unknown controller", []string{"run", "--controllers=replicaset,deploymint"},
			[]string{"controllers[1]", `"deploymint"`, "not in the list of known controllers"}},
		{"no controller left", []string{"run", "--controllers=-*"}, []string{"controllers"}},
		{"bad value", []string{"run", "--config", badValue}, []string{badValue, "plugins[0].workers", "-3",
			"must be from 1 to 1000"}},
		{"bad type", []string{"run", "--config", badType}, []string{badType, "line 4", "clientConnection.qps",
			"must be a number"}},
		{"misspelt field", []string{"run", "--config", misspelt},
			[]string{misspelt, "line 3", "contollers", "unknown field", "controllers"}},
		{"another kind of file", []string{"run", "--config", wrongKind},
			[]string{wrongKind, "kind", "ControllerManagerConfiguration"}},
		{"a plugin configured twice", []string{"run", "--config", twice},
			[]string{twice, "plugins[1].name", "merge the two"}},
		{"a plugin that isn't there", []string{"run", "--config", noPlugin},
			[]string{"plugins[0].name", `no plugin "replicasset"`, "replicaset"}},
		{"no configuration file", []string{"run", "--config", noFolder}, []string{"configuration", noFolder, "no such file"}},
		{"no kubeconfig file", []string{"run", "--kubeconfig", noKubeconf},
			[]string{"clientConnection.kubeconfig", noKubeconf, "no such file"}},
		{"a kubeconfig that is none", []string{"run", "--kubeconfig", badKubeconf},
			[]string{"clientConnection.kubeconfig", badKubeconf}},
		{"no kubeconfig at all", []string{"run"}, []string{"clientConnection.kubeconfig", "set --kubeconfig"}},
		{"no plugin folder", []string{"run", "--plugin-folder", noFolder},
			[]string{"pluginFolder", noFolder, "make the folder"}},
		{"a plugin folder that is a file", []string{"run", "--plugin-folder", good},
			[]string{"pluginFolder", good, "is a file"}},
		{"an address that is none", []string{"run", "--bind-address=localhost"},
			[]string{"--bind-address", "failed to parse IP"}},
		{"nobody listens", []string{"run", "--kubeconfig", good, "--secure-port=-1"},
			[]string{server, "connection refused", good, "check that it runs"}},
	}

	for _, b := range bad {
		path := filepath.Join(folder, b.name+".wasm")
		rows = append(rows, row{"inspect " + b.name, []string{"plugin", "inspect", path}, []string{path, b.says, b.hint}})
	}

	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			expectFailure(t, r.args, r.says...)
		})
	}
}

// expectFailure runs windlass, and demands exit code 1 and a clear error.
func expectFailure(t *testing.T, args []string, says ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("ended with %v, want exit code 1", err)
	}
	if stdout.Len() > 0 {
		t.Errorf("on stdout: %s", stdout.String())
	}
	checkMessage(t, stderr.String(), says...)
	t.Log(strings.TrimSpace(stderr.String()))
}

// nobodyListens returns the address of a server that has ended.
func nobodyListens(t *testing.T) string {
	t.Helper()
	address, _ := cluster.FreeAddress(t)
	return "http://" + address
}
