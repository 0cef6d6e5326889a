package authors

import (
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/test/cluster"
)

// proposed is the command to try a plugin with, in what windlass plugin new says.
var proposed = regexp.MustCompile(`(?m)^  (windlass run .*)$`)

// Where the native manager runs, and holds its Lease, the command that windlass plugin new proposes runs the new plugin
// and nothing else.
func TestPluginNewBesideNative(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 1})
	a := newAuthor(t, c, false)
	c.Native(t, []string{"*"}, "--leader-elect=true")
	a.eventually("the native manager holds its Lease", func() error {
		_, err := a.client.CoordinationV1().Leases("kube-system").Get(t.Context(), "kube-controller-manager",
			metav1.GetOptions{})
		return err
	})

	said := proposed.FindStringSubmatch(a.runShell(a.home, "windlass plugin new hello"))
	if said == nil {
		t.Fatal("it proposes no command")
	}
	a.runShell(a.home, "windlass plugin build hello")
	a.runShell(a.home, "mkdir .kube && cp $KUBECONFIG .kube/config")
	run := exec.CommandContext(t.Context(), "sh", "-c", "exec "+said[1]+" --secure-port=0")
	run.Dir, run.Env = a.home+"/hello", a.env
	var log strings.Builder
	run.Stdout, run.Stderr = &log, &log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()

	if _, err := a.client.CoreV1().Namespaces().Patch(t.Context(), "default", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"hello":"world"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	a.eventually("the controller's config map is there", func() error {
		_, err := a.client.CoreV1().ConfigMaps("default").Get(t.Context(), "hello", metav1.GetOptions{})
		return err
	})

	if err := run.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(time.Minute):
		_ = run.Process.Kill()
		t.Fatal("it doesn't end")
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, `"Starting controller"`) && !strings.Contains(line, "hello-controller") {
			t.Errorf("it runs more than the plugin: %s", line)
		}
		if strings.HasPrefix(line, "E") {
			t.Errorf("it says that something is wrong: %s", line)
		}
	}
	if !strings.Contains(log.String(), `"Starting controller" controller="hello-controller"`) {
		t.Errorf("it says nothing of the controller:\n%s", log.String())
	}
}
