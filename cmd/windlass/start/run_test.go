package start

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/cmd/windlass/answer/answertest"
	"github.com/windlass-dev/windlass/test/cluster"
)

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

func TestUnreachableServer(t *testing.T) {
	t.Parallel()
	address, _ := cluster.FreeAddress(t)
	server := "http://" + address
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
