package windlass

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	configuration "github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/test/cluster"
)

// Process is the windlass program in a process of its own, which can be killed.
type Process struct {
	PID int // of what was started: with leader election a guardian, whose child is the manager
	Served

	log    string
	before int64 // bytes of the log that an earlier process has written
	cmd    *exec.Cmd
	ended  chan struct{}
	err    error
	once   sync.Once
}

// Program is where make build leaves windlass.
func Program() string { return filepath.Join(filepath.Dir(cluster.Binary()), "windlass") }

// Spawn starts the program on a cluster, with these controllers and nothing but upstream's rights, until it is killed
// or the test is over.
func Spawn(t testing.TB, c *cluster.Cluster, controllers ...string) *Process {
	t.Helper()
	return spawnSingle(t, c, c.ManagerKubeconfig, "", controllers)
}

// SpawnThrough is Spawn with another kubeconfig, such as one of a proxy.
func SpawnThrough(t testing.TB, c *cluster.Cluster, kubeconfig string, controllers ...string) *Process {
	t.Helper()
	return spawnSingle(t, c, kubeconfig, "", controllers)
}

// SpawnWith is Spawn with fields of the configuration file besides, as YAML.
func SpawnWith(t testing.TB, c *cluster.Cluster, fields string, controllers ...string) *Process {
	t.Helper()
	return spawnSingle(t, c, c.ManagerKubeconfig, fields, controllers)
}

// Replica is one of several processes.
type Replica struct {
	Name       string // of its folder
	Kubeconfig string // by default the manager's
	Fields     string // of the configuration file, as YAML: leaderElection among them
	Program    string // by default Program's
	Env        []string
}

// SpawnReplica is Spawn of one of several processes, each with files of its own.
func SpawnReplica(t testing.TB, c *cluster.Cluster, r Replica, controllers ...string) *Process {
	t.Helper()
	dir := filepath.Join(c.Dir, r.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if r.Kubeconfig == "" {
		r.Kubeconfig = c.ManagerKubeconfig
	}
	return spawnIn(t, c, dir, r, controllers)
}

// spawnSingle starts a process that is the only one: it needs no Lease.
func spawnSingle(t testing.TB, c *cluster.Cluster, kubeconfig, fields string, controllers []string) *Process {
	t.Helper()
	return spawnIn(t, c, c.Dir, Replica{Kubeconfig: kubeconfig, Fields: "leaderElection: {leaderElect: false}\n" + fields},
		controllers)
}

func spawnIn(t testing.TB, c *cluster.Cluster, dir string, r Replica, controllers []string) *Process {
	t.Helper()
	if r.Program == "" {
		r.Program = Program()
	}
	address, _ := cluster.FreeAddress(t)
	p := &Process{Served: newServed(t, c, address), log: filepath.Join(dir, "windlass.log"),
		ended: make(chan struct{})}
	config := filepath.Join(dir, "windlass.yaml")
	if err := os.WriteFile(config,
		[]byte("apiVersion: config.windlass.dev/v1alpha1\nkind: ControllerManagerConfiguration\n"+r.Fields+"\n"+
			c.ServingFields(p.Address)), 0o600); err != nil {
		t.Fatal(err)
	}

	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	p.before = p.logged(t)

	p.cmd = exec.Command(r.Program, "run", "--config", config, "--kubeconfig", r.Kubeconfig,
		"--use-service-account-credentials", "--controllers", strings.Join(controllers, ","),
		"--cluster-signing-cert-file", c.CAFile, "--cluster-signing-key-file", c.CAKeyFile,
		"--kube-api-qps=1000", "--kube-api-burst=1000")
	if configuration.Enabled("serviceaccount-token-controller", controllers, false) {
		p.cmd.Args = append(p.cmd.Args, "--service-account-private-key-file", c.TokenKeyFile) // it turns that controller on
	}
	p.cmd.Stderr = log
	p.cmd.Env = append(os.Environ(), r.Env...)
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("%v: run make build", err)
	}

	p.PID = p.cmd.Process.Pid
	go func() {
		p.err = p.cmd.Wait()
		log.Close()
		close(p.ended)
	}()

	t.Cleanup(func() { p.Stop(t) })
	return p
}

// Kill ends the process with SIGKILL, at once and without a word, and the manager with it where it is a guardian: as a
// container is ended.
func (p *Process) Kill(t testing.TB) {
	t.Helper()
	p.endProcess(t, syscall.SIGKILL)
}

// KillManager sends the process that runs the controllers a signal that ends it, and waits until its guardian has
// ended, too.
func (p *Process) KillManager(t testing.TB, s syscall.Signal) {
	t.Helper()
	p.once.Do(func() {
		p.Signal(t, s)
		p.awaitEnd(t, s)
	})
}

// KillGuardian ends the guardian alone with SIGKILL.
func (p *Process) KillGuardian(t testing.TB) {
	t.Helper()
	p.once.Do(func() {
		_ = p.cmd.Process.Kill()
		p.awaitEnd(t, syscall.SIGKILL)
	})
}

// Log is what it has logged so far.
func (p *Process) Log(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Manager is the process that runs the controllers.
func (p *Process) Manager(t testing.TB) int {
	t.Helper()
	pid, err := cluster.Ward(p.PID)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// Stop asks the process to end, and fails the test if it doesn't do so in peace. It does nothing to one that has been
// killed.
func (p *Process) Stop(t testing.TB) {
	t.Helper()
	p.endProcess(t, syscall.SIGTERM)
}

func (p *Process) endProcess(t testing.TB, s syscall.Signal) {
	t.Helper()
	p.once.Do(func() {
		if s == syscall.SIGTERM {
			p.awaitBegun(t)
		}
		select {
		case <-p.ended:
			t.Errorf("windlass (process %d) ended by itself: %v\n%s", p.PID, p.err, cluster.Tail(p.log))
			return
		default:
		}
		ward, err := cluster.Ward(p.PID)
		_ = p.cmd.Process.Signal(s) // this one process, which we have started and not yet waited for
		if s == syscall.SIGKILL && err == nil && ward != p.PID {
			_ = syscall.Kill(ward, s) // its child, which has just been told to end
		}
		p.awaitEnd(t, s)
		if s == syscall.SIGTERM && p.err != nil {
			t.Errorf("windlass (process %d) ended with %v\n%s", p.PID, p.err, cluster.Tail(p.log))
		}
	})
}

// awaitBegun waits for the process's first line: until then a signal may come before anything listens for it, and ends
// any program at once.
func (p *Process) awaitBegun(t testing.TB) {
	t.Helper()
	end := time.After(cluster.Patience)
	for p.logged(t) == p.before {
		select {
		case <-p.ended:
			return
		case <-end:
			t.Errorf("windlass (process %d) logs nothing within %v", p.PID, cluster.Patience)
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// logged returns how many bytes the log has.
func (p *Process) logged(t testing.TB) int64 {
	t.Helper()
	info, err := os.Stat(p.log)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func (p *Process) awaitEnd(t testing.TB, s syscall.Signal) {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(cluster.Patience):
		_ = p.cmd.Process.Kill()
		<-p.ended
		t.Errorf("windlass (process %d) did not end within %v of %v", p.PID, cluster.Patience, s)
	}
}

// Signal sends a signal to the process that runs the controllers, such as SIGSTOP; whoever stops it sees to it that it
// goes on.
func (p *Process) Signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(p.Manager(t), s); err != nil { // ours, or the child of one that is ours and lives
		t.Fatal(err)
	}
}
