package kubeadm

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/cert"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

const namespace = "default"

// Kubeadm's manifest with another image: the same command, and what it asks for that isn't here is told of. Then the
// native manager with that command, which takes the Lease and the work.
func TestManifest(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 2})
	client := c.Client()
	web := workload.Web{Client: client, Namespace: namespace, Name: "web"}
	args := command(t, c, address())

	// A container's entry point of that name, as a link to windlass, is all that an image needs.
	name := filepath.Join(t.TempDir(), "kube-controller-manager")
	mustSucceed(t, os.Symlink(windlass.Program(), name))
	run := startProcess(t, "windlass", append([]string{name}, args...))
	awaitHealth(t, run)
	windlass.Account(t, client, namespace)
	mustSucceed(t, web.Create(t.Context(), 3))
	run.converge(t, web, 3, "web:1")
	held := c.LeaseHolder(t)
	if held == "" {
		t.Error("nobody holds kube-controller-manager's Lease")
	}

	if d := cmp.Diff([]string{
		"--cluster-name",
	}, run.matchesInLog(t, `changes nothing here" flag="([^"]+)" reason="[^"]+"`)); d != "" {
		t.Errorf("flags that windlass tells of, -want +got:\n%s", d)
	}
	if d := cmp.Diff([]string(nil),
		run.matchesInLog(t, `doesn't have this controller of kube-controller-manager yet.* controller="([^"]+)"`)); d != "" {
		t.Errorf("controllers that windlass tells of, -want +got:\n%s", d)
	}
	others := run.matchesInLog(t, `has more controllers in kube-controller-manager.* controllers="([^"]+)"`)
	if len(others) != 1 || !strings.Contains(others[0], "node-lifecycle-controller,") {
		t.Errorf("of what else isn't here windlass tells %q", others)
	}
	run.stopCleanly(t)

	run = startProcess(t, "the native manager", append([]string{cluster.Binary(), "kube-controller-manager", "--"},
		args...))
	cluster.Eventually(t, time.Minute, "the native manager takes the Lease",
		func() (bool, string) { h := c.LeaseHolder(t); return h != held && h != "", h })
	mustSucceed(t, web.Image(t.Context(), "web:2"))
	run.converge(t, web, 3, "web:2")
}

// command is what kubeadm v1.37 writes behind the program's name (cmd/kubeadm/app/phases/controlplane/manifests.go) for
// a dual-stack cluster; paths and the address are those of this cluster, and so is the range of its nodes' pods.
func command(t *testing.T, c *cluster.Cluster, address string) []string {
	t.Helper()
	pem, _, err := cert.GenerateSelfSignedCertKey("front-proxy-ca", nil, nil)
	mustSucceed(t, err)
	frontProxy := filepath.Join(c.Dir, "front-proxy-ca.crt")
	mustSucceed(t, os.WriteFile(frontProxy, pem, 0o600))
	return []string{
		"--allocate-node-cidrs=true",
		"--authentication-kubeconfig=" + c.ManagerKubeconfig,
		"--authorization-kubeconfig=" + c.ManagerKubeconfig,
		"--bind-address=" + address,
		"--client-ca-file=" + c.CAFile,
		"--cluster-cidr=10.128.0.0/9,fd00:10:128::/48",
		"--cluster-name=kubernetes",
		"--cluster-signing-cert-file=" + c.CAFile,
		"--cluster-signing-key-file=" + c.CAKeyFile,
		"--controllers=*,bootstrapsigner,tokencleaner",
		"--kubeconfig=" + c.ManagerKubeconfig,
		"--leader-elect=true",
		"--requestheader-client-ca-file=" + frontProxy,
		"--root-ca-file=" + c.CAFile,
		"--service-account-private-key-file=" + c.TokenKeyFile,
		"--service-cluster-ip-range=10.96.0.0/12,fd00:10:96::/112",
		"--use-service-account-credentials=true",
	}
}

// address is one on loopback, of this process alone, as the port is the one of all controller managers.
func address() string { return fmt.Sprintf("127.37.%d.%d", os.Getpid()>>8&255, 1+os.Getpid()&127) }

// process is a controller manager.
type process struct {
	name, log, address string
	cmd                *exec.Cmd
	ended              chan struct{}
	err                error
}

func startProcess(t *testing.T, name string, command []string) *process {
	t.Helper()
	p := &process{name: name, log: filepath.Join(t.TempDir(), "log"), cmd: exec.Command(command[0], command[1:]...),
		ended: make(chan struct{})}
	for _, a := range command {
		if host, ok := strings.CutPrefix(a, "--bind-address="); ok {
			p.address = host + ":10257"
		}
	}
	f, err := os.Create(p.log)
	mustSucceed(t, err)
	p.cmd.Stderr = f
	mustSucceed(t, p.cmd.Start())
	go func() {
		p.err = p.cmd.Wait()
		f.Close()
		close(p.ended)
	}()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s:\n%s", name, cluster.Tail(p.log))
		}
		p.signalAndWait(syscall.SIGKILL)
	})
	return p
}

func (p *process) signalAndWait(s syscall.Signal) {
	select {
	case <-p.ended:
	default:
		_ = p.cmd.Process.Signal(s) // this one process, which isn't waited for yet
		<-p.ended
	}
}

// stopCleanly ends it as the kubelet does, and expects it to end in peace.
func (p *process) stopCleanly(t *testing.T) {
	t.Helper()
	p.running(t)
	if p.signalAndWait(syscall.SIGTERM); p.err != nil {
		t.Errorf("%s ended with %v\n%s", p.name, p.err, cluster.Tail(p.log))
	}
}

func (p *process) running(t *testing.T) {
	t.Helper()
	select {
	case <-p.ended:
		t.Fatalf("%s ended by itself: %v\n%s", p.name, p.err, cluster.Tail(p.log))
	default:
	}
}

// matchesInLog returns what a pattern finds in the log, sorted.
func (p *process) matchesInLog(t *testing.T, pattern string) (all []string) {
	t.Helper()
	b, err := os.ReadFile(p.log)
	mustSucceed(t, err)
	for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(b, -1) {
		all = append(all, string(m[1]))
	}
	slices.Sort(all)
	return all
}

// awaitHealth waits for what the kubelet's probes wait for.
func awaitHealth(t *testing.T, p *process) {
	t.Helper()
	// as kubelets do
	probe := &http.Client{Timeout: 5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	cluster.Eventually(t, time.Minute, p.name+" is healthy", func() (bool, string) {
		p.running(t)
		r, err := probe.Get("https://" + p.address + "/healthz")
		if err != nil {
			return false, err.Error()
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		return r.StatusCode == http.StatusOK, fmt.Sprint(r.StatusCode, " ", string(b))
	})
}

func (p *process) converge(t *testing.T, web workload.Web, n int32, image string) {
	t.Helper()
	cluster.Eventually(t, 2*time.Minute, fmt.Sprint(p.name, " brings about ", n, " of ", image), func() (bool, string) {
		p.running(t)
		done, seen, err := web.Converged(t.Context(), n, image)
		if err != nil {
			return false, err.Error()
		}
		return done, seen
	})
}
