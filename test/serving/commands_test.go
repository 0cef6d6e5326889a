package serving

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/windlass-dev/windlass/host/rbac"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// A windlass as it comes is asked by the commands of the same user without a flag but the kubeconfig, and tells what is
// missing to those who may not.
func TestCommands(t *testing.T) {
	w := &world{Cluster: cluster.Start(t, cluster.Options{})}
	address, port := cluster.FreeAddress(t)
	home := t.TempDir()
	environment := append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, "cache"), "KUBECONFIG=")
	manager := exec.Command(windlass.Program(), "run", "--kubeconfig", w.ManagerKubeconfig, "--controllers=serviceaccount",
		"--secure-port", port)
	manager.Env = environment
	var log strings.Builder
	manager.Stderr = &log
	if err := manager.Start(); err != nil {
		t.Fatalf("%v: run make build", err)
	}
	t.Cleanup(func() {
		_ = manager.Process.Signal(syscall.SIGTERM)
		if err := manager.Wait(); err != nil {
			t.Errorf("windlass: %v\n%s", err, &log)
		}
		if left, err := os.ReadDir(filepath.Join(home, "cache", "windlass", "serving")); err != nil || len(left) > 0 {
			t.Errorf("its certificate is left behind: %v %v", left, err)
		}
	})
	command := func(args ...string) (out string, code int) {
		t.Helper()
		c := exec.CommandContext(t.Context(), windlass.Program(), append(args, "--server", address)...)
		c.Env = environment
		b, err := c.CombinedOutput()
		if _, ended := err.(*exec.ExitError); err != nil && !ended {
			t.Fatal(err)
		}
		return string(b), c.ProcessState.ExitCode()
	}
	eventually(t, "it is asked", func() string {
		out, code := command("get", "controllers", "--kubeconfig", w.Kubeconfig)
		if code != 0 || !strings.Contains(out, "serviceaccount-controller") {
			return out
		}
		return ""
	})
	expect := func(code int, says string, args ...string) {
		t.Helper()
		if out, got := command(args...); got != code || !strings.Contains(out, says) {
			t.Errorf("%v: code %d, want %d and %q:\n%s", args, got, code, says, out)
		}
	}
	expect(0, "serviceaccount-controller", "get", "controllers", "--kubeconfig", w.Kubeconfig, "-o", "json")
	expect(1, `403 user "system:anonymous" may not get /windlass/v1/status`, "get", "controllers")
	expect(1, `--kubeconfig`, "get", "controllers")

	jane := kubeconfig(t, w, w.account(t, "jane"))
	expect(1, `user "system:serviceaccount:default:jane" may not get /windlass/v1/status: a ClusterRole with nonResourceURLs: ["/windlass/v1/status"], verbs: [get], bound to the user, would allow it`, "get", "controllers", "--kubeconfig", jane)
	printed, code := func() (string, int) {
		c := exec.CommandContext(t.Context(), windlass.Program(), "rbac", "--viewer", "system:serviceaccount:default:jane")
		b, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(b), c.ProcessState.ExitCode()
	}()
	if code != 0 || !strings.Contains(printed, "nonResourceURLs:\n  - /healthz\n") {
		t.Errorf("windlass rbac --viewer: %d\n%s", code, printed)
	}
	w.createRoles(t, rbac.People([]string{"system:serviceaccount:default:jane"}, nil))
	eventually(t, "jane is a viewer", func() string {
		out, code := command("get", "plugins", "--kubeconfig", jane)
		if code != 0 {
			return out
		}
		return ""
	})
	expect(1, "may not get /debug/recordings/serviceaccount-controller", "record", "serviceaccount-controller",
		"--kubeconfig", jane)
	expect(1, "may not post /windlass/v1/controllers/serviceaccount-controller/release", "release",
		"serviceaccount-controller", "--kubeconfig", jane)
	expect(1, "isn't quarantined", "release", "serviceaccount-controller", "--kubeconfig", w.Kubeconfig)

	t.Log("another user of this machine has no certificate to know it by")
	environment = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CACHE_HOME="+t.TempDir(), "KUBECONFIG=")
	expect(1, "is windlass, nothing was sent", "get", "controllers", "--kubeconfig", w.Kubeconfig)
	expect(0, "serviceaccount-controller", "get", "controllers", "--kubeconfig", w.Kubeconfig,
		"--insecure-skip-tls-verify")
	expect(0, "serviceaccount-controller", "get", "controllers", "--kubeconfig", w.Kubeconfig, "--certificate-authority",
		filepath.Join(home, "cache", "windlass", "serving", port+".crt"))
}

// kubeconfig is one of a user with a token.
func kubeconfig(t *testing.T, w *world, token string) string {
	t.Helper()
	k := clientcmdapi.NewConfig()
	k.Clusters["c"] = &clientcmdapi.Cluster{Server: w.RESTConfig().Host, CertificateAuthority: w.CAFile}
	k.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: token}
	k.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	k.CurrentContext = "c"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*k, path); err != nil {
		t.Fatal(err)
	}
	return path
}
