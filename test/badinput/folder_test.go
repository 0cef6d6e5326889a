package badinput

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/test/cluster"
)

// Bad modules in the plugin folder are reported, a line each, and the other plugins run.
func TestBadModulesAreLeftOut(t *testing.T) {
	folder := t.TempDir()
	badModules(t, folder)
	writeFile(t, filepath.Join(folder, "copy-1.wasm"), builtin(t, "serviceaccount"))
	writeFile(t, filepath.Join(folder, "serviceaccount.wasm"), builtin(t, "serviceaccount"))
	writeFile(t, filepath.Join(folder, "ttlafterfinished.wasm"), builtin(t, "ttlafterfinished"))
	writeFile(t, filepath.Join(folder, "label.wasm"), replace(t, builtin(t, "job"), `"paths":["spec.managedBy"]`,
		`"paths":["spec.managedXy"]`))
	settings := filepath.Join(t.TempDir(), "windlass.yaml")
	writeFile(t, settings, []byte("apiVersion: config.windlass.dev/v1alpha1\nkind: ControllerManagerConfiguration\npluginFolder: "+folder+"\nplugins: [{name: job, file: label.wasm}, {name: serviceaccount, file: copy-1.wasm, serviceAccount: service-account-controller}]\n"))
	c := cluster.Start(t, cluster.Options{})
	cmd := exec.CommandContext(t.Context(), program, "run", "--kubeconfig", c.ManagerKubeconfig,
		"--use-service-account-credentials", "--secure-port=-1", "--plugin-folder", folder, "--config", settings)
	stderr := &output{}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	client := c.Client()
	if _, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "good"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, time.Minute, "a service account by the plugin that is there twice", func() (bool, string) {
		_, err := client.CoreV1().ServiceAccounts("good").Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil, fmt.Sprint(err, "\n", stderr)
	})
	cluster.Eventually(t, time.Minute, "a config map by another plugin", func() (bool, string) {
		_, err := client.CoreV1().ConfigMaps("good").Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		return err == nil, fmt.Sprint(err, "\n", stderr)
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("ended with %v when told to stop, want exit code 0", err)
	}

	all := stderr.String()
	checkNoDump(t, all)
	for _, b := range bad {
		reported(t, all, filepath.Join(folder, b.name+".wasm"), b.says, b.hint)
	}
	reported(t, all, filepath.Join(folder, "serviceaccount.wasm"), filepath.Join(folder, "copy-1.wasm"), "remove one of them")
	reported(t, all, filepath.Join(folder, "ttlafterfinished.wasm"), "built in",
		"configure plugins: [{name: ttlafterfinished, file: ttlafterfinished.wasm}]")
	reported(t, all, filepath.Join(folder, "label.wasm"),
		"controller job-controller: metric job_controller_jobs_by_external_controller_total: label controller_name: view jobs",
		`has no field \"managedXy\"; there is managedBy`)
	if n := strings.Count(all, "isn't loaded"); n != len(bad)+3 {
		t.Errorf("%d plugins aren't loaded, want %d:\n%s", n, len(bad)+3, all)
	}
}

// What only the plugin knows is wrong is said once it is loaded.
func TestBadSetting(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	path := filepath.Join(t.TempDir(), "setting.yaml")
	writeFile(t, path, []byte(head+"serving: {port: -1}\nplugins:\n- name: rootca\n  settings:\n    root-ca: /ca.crt\n"))
	expectFailure(t, []string{"run", "--config", path, "--kubeconfig", c.ManagerKubeconfig}, `"rootca"`,
		"settings[root-ca]",
		"it has root-ca-file")
}

// reported demands one error in the log about the file, with all the parts.
func reported(t *testing.T, log, file string, parts ...string) {
	t.Helper()
	var lines []string
	for line := range strings.Lines(log) {
		if strings.HasPrefix(line, "E") && strings.Contains(line, file) {
			lines = append(lines, line)
		}
	}
	if len(lines) != 1 {
		t.Errorf("%d errors about %s, want one: %q\n%s", len(lines), file, lines, log)
		return
	}
	for _, p := range parts {
		if !strings.Contains(lines[0], p) {
			t.Errorf("doesn't say %q: %s", p, lines[0])
		}
	}
}

// output is written by a process and read by the test.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
