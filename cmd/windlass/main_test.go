package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/cmd/windlass/answer/answertest"
	"github.com/windlass-dev/windlass/host/plugins"
	builtin "github.com/windlass-dev/windlass/plugins"
)

func TestMain(m *testing.M) { answertest.Main(m, main) }

func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: "%s"}}], users: [{name: u, user: {}}]}`, server)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What goes wrong is one line on stderr that says what to do, and exit code 1; never a page of flags.
func TestErrors(t *testing.T) {
	text := filepath.Join(t.TempDir(), "a.wasm")
	if err := os.WriteFile(text, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}

	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"unknown command": {[]string{"fly"}, `unknown command "fly"`},
		"unknown flag":    {[]string{"run", "--fly"}, "unknown flag: --fly: see windlass run --help"},
		"argument":        {[]string{"run", "fly"}, "unknown command"},
		"several bad values": {[]string{"run", "--kube-api-qps=-1", "--secure-port=70000"},
			"clientConnection.qps: Invalid value: -1"},
		"no configuration": {[]string{"run", "--config=/nowhere.yaml"}, "configuration: open /nowhere.yaml: no such file"},
		"no such module":   {[]string{"plugin", "inspect", "/nowhere.wasm"}, "/nowhere.wasm: no such file"},
		"not a module":     {[]string{"plugin", "inspect", text}, text + `: not a WebAssembly module`},
		"no built-in":      {[]string{"plugin", "inspect", "builtin:nothing"}, `no built-in plugin "nothing"`},
		"bad output":       {[]string{"plugin", "inspect", text, "-o", "xml"}, `--output "xml": must be yaml or json`},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, stdout, stderr := answertest.Command(t, c.args...)
			err := cmd.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("exited with %v", err)
			}
			if got := stderr.String(); !strings.HasPrefix(got, "windlass: ") || !strings.Contains(got, c.want) ||
				strings.Count(got, "\n") != 1 {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if stdout.Len() > 0 {
				t.Errorf("stdout: %s", stdout)
			}
		})
	}
}

func TestUnreachableServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := "http://" + l.Addr().String()
	l.Close()
	file := kubeconfig(t, server)
	cmd, _, stderr := answertest.Command(t, "run", "--kubeconfig", file, "--secure-port=-1")
	if err := cmd.Run(); err == nil {
		t.Error("exited with 0")
	}
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	last := lines[len(lines)-1]
	if !strings.HasPrefix(last, "windlass: ") || !strings.Contains(last, server) || !strings.Contains(last, file) {
		t.Errorf("doesn't name %s and %s: %s", server, file, last)
	}
}

// A signal while the manager still waits for its server ends it cleanly.
func TestSignalStops(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd, _, stderr := answertest.Command(t, "run", "--kubeconfig", kubeconfig(t, "http://"+l.Addr().String()),
		"--secure-port=-1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait(); l.Close() }()
	c, err := l.Accept() // it asks the server, which never answers
	if err != nil {
		t.Fatalf("ended before it asked its server (%v): %s", <-ended, stderr)
	}
	defer c.Close()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}

	if err := <-ended; err != nil {
		t.Errorf("%v: %s", err, stderr)
	}
	if !strings.Contains(stderr.String(), `"Stopping" signal="terminated"`) {
		t.Errorf("doesn't say why it stopped: %s", stderr)
	}
}

func TestSecondSignal(t *testing.T) {
	second := make(chan struct{})
	ctx, stop := untilSignalled(func() { close(second) })
	defer stop()
	self := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	self()
	<-ctx.Done()
	select {
	case <-second:
		t.Fatal("the first signal counted as the second")
	default:
	}
	self()
	<-second
}

func TestBounded(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for name, c := range map[string]struct {
		ctx  context.Context
		f    func(context.Context) error
		most time.Duration
		want string
	}{
		"ended well": {t.Context(), func(context.Context) error { return nil }, time.Minute, ""},
		"failed":     {t.Context(), func(context.Context) error { return io.EOF }, time.Minute, "EOF"},
		"cancelled by itself": {t.Context(), func(context.Context) error { return context.Canceled }, time.Minute,
			"context canceled"},
		"stopped": {stopped, func(ctx context.Context) error { return fmt.Errorf("caches: %w", ctx.Err()) },
			time.Minute, ""},
		"failed while stopping": {stopped, func(context.Context) error { return io.EOF }, time.Minute, "EOF"},
		"never stops": {stopped, func(context.Context) error { select {} }, 10 * time.Millisecond,
			"did not stop within 10ms"},
	} {
		err := bounded(c.ctx, c.most, c.f)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

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

// Every built-in plugin can be looked at, either way.
func TestInspect(t *testing.T) {
	names := builtin.Names()
	if len(names) == 0 {
		t.Fatal("no built-in plugins: run make build first")
	}

	for _, name := range names {
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
