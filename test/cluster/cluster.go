// Package cluster starts a real Kubernetes control plane for a test.
//
// The cluster is the devcluster binary (see the devcluster module) in a process and a folder of its own: etcd,
// kube-apiserver, kube-scheduler and KWOK nodes, and no controller manager. So nothing but what a test brings along
// creates pods for a replica set, endpoints for a service, or the service account "default" without which admission
// refuses pods.
package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// startTimeout is far more than the 3 seconds that a start takes, for machines on which many tests run at once.
const startTimeout = 2 * time.Minute

// refused is the environment variable that is "none" where tests may start no cluster (hack/rings.sh).
const refused = "WINDLASS_TEST_CLUSTERS"

// DeadAnnotation on a node has its kubelet be dead until it is taken away: the node's Lease isn't renewed, and nothing
// happens to its pods.
const DeadAnnotation = "devcluster.windlass.dev/dead"

// Options says what cluster a test wants.
type Options struct {
	Nodes int  // KWOK nodes; they are called node-0, node-1, … and lie in zone-a, zone-b and zone-c by turns
	Audit bool // keep an audit log, for Cluster.Audit
	Port  int  // the API server's port; 0 takes a free one
	// NoPodRanges and KeepTaints leave to controllers what the cluster does for its nodes otherwise: to give them pod
	// ranges, and to take away the taint that a new node isn't ready.
	NoPodRanges, KeepTaints bool
	// RuntimeConfig is the API server's --runtime-config: which versions of resources it serves other than by default.
	RuntimeConfig string
	// the cluster's folder; a second cluster on the same folder continues the first. Start makes one when it is empty
	Dir string
}

// Cluster is a running control plane.
type Cluster struct {
	Dir               string
	Kubeconfig        string // an administrator's
	ManagerKubeconfig string // the user system:kube-controller-manager's, with nothing but the bootstrap roles' rights
	CAFile            string // what signed the API server's certificate: upstream's --root-ca-file
	CAKeyFile         string // its key: upstream's --cluster-signing-key-file
	TokenKeyFile      string // upstream's --service-account-private-key-file
	AuditLog          string // empty without Options.Audit
	Log               string // what the components logged

	cmd   *exec.Cmd
	stdin io.Closer
	once  sync.Once
	ended chan struct{}
	err   error // of the process, once ended is closed

	audit  audited
	native int // the process of the last native manager
}

// Start starts a cluster, and stops it when the test is over. It fails the test if the cluster doesn't come up.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	c, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Errorf("cluster: %v\n%s", err, Tail(c.Log))
		}
	})
	return c
}

// Run starts a cluster in o.Dir and returns when it can be used. The caller stops it; it also ends when the calling
// process does.
func Run(ctx context.Context, o Options) (*Cluster, error) {
	if os.Getenv(refused) == "none" {
		return nil, errors.New("cluster: make check and make race start no cluster: a test that needs one is called TestOnCluster…, or has a folder under test/ (hack/rings.txt)")
	}

	binary := Binary()
	if _, err := os.Stat(binary); err != nil {
		return nil, fmt.Errorf("cluster: %s is missing: run make devcluster", binary)
	}
	c := &Cluster{
		Dir:               o.Dir,
		Kubeconfig:        filepath.Join(o.Dir, "kubeconfig"),
		ManagerKubeconfig: filepath.Join(o.Dir, "kube-controller-manager.kubeconfig"),
		CAFile:            filepath.Join(o.Dir, "ca.crt"),
		CAKeyFile:         filepath.Join(o.Dir, "ca.key"),
		TokenKeyFile:      filepath.Join(o.Dir, "sa.key"),
		Log:               filepath.Join(o.Dir, "devcluster.log"),
		ended:             make(chan struct{}),
	}
	args := []string{"run", "--until-eof", "--dir", o.Dir, "--nodes", strconv.Itoa(o.Nodes), "--port",
		strconv.Itoa(o.Port)}
	args = append(args, fmt.Sprintf("--pod-ranges=%t", !o.NoPodRanges), fmt.Sprintf("--lift-taints=%t", !o.KeepTaints))
	args = append(args, "--runtime-config", o.RuntimeConfig)
	if o.Audit {
		c.AuditLog = filepath.Join(o.Dir, "audit.log")
		args = append(args, "--audit-log", c.AuditLog)
	}
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	defer log.Close() // the child has its own

	c.cmd = exec.Command(binary, args...)
	c.cmd.Stderr = log
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	// Not StdoutPipe: Wait would close that under the reader.
	stdout, stdoutWriter := io.Pipe()
	c.cmd.Stdout = stdoutWriter
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	go func() {
		c.err = c.cmd.Wait()
		stdoutWriter.Close()
		close(c.ended)
	}()
	ready := make(chan struct{})
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "ready ") {
				close(ready)
				break
			}
		}
		_, _ = io.Copy(io.Discard, stdout)
	}()

	select {
	case <-ready:
		return c, nil
	case <-c.ended:
		err = fmt.Errorf("ended before it was ready: %v", c.err)
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(startTimeout):
		err = fmt.Errorf("not ready after %v", startTimeout)
	}
	_ = c.Stop()
	return nil, fmt.Errorf("cluster: %w; its log ends with:\n%s", err, Tail(c.Log))
}

// Stop ends the cluster and waits for that. Its files stay. Only the first call does anything.
func (c *Cluster) Stop() error {
	c.once.Do(func() {
		c.stdin.Close()
		select {
		case <-c.ended:
		case <-time.After(Patience):
			_ = c.cmd.Process.Kill()
			<-c.ended
		}
	})
	return c.err
}

// RESTConfig is an administrator's, without a rate limit.
func (c *Cluster) RESTConfig() *rest.Config { return loadConfig(c.Kubeconfig) }

// ManagerRESTConfig is the one of the user system:kube-controller-manager, without a rate limit.
func (c *Cluster) ManagerRESTConfig() *rest.Config { return loadConfig(c.ManagerKubeconfig) }

// Client is an administrator's.
func (c *Cluster) Client() kubernetes.Interface { return kubernetes.NewForConfigOrDie(c.RESTConfig()) }

func loadConfig(kubeconfig string) *rest.Config {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		panic(fmt.Sprintf("cluster: devcluster wrote a bad kubeconfig: %v", err))
	}
	config.QPS = -1
	return config
}

// Binary is where make devcluster leaves the program.
func Binary() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "_output", "devcluster")
}

// Tail is the end of a log.
func Tail(path string) string {
	const lines = 30
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
