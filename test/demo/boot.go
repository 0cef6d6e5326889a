package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/test/cluster"
)

// platform is what runs: the control plane, Windlass, and a client.
type platform struct {
	dir        string
	kubeconfig string
	metrics    string // address
	http       *http.Client
	client     kubernetes.Interface
	cluster    *cluster.Cluster
	processes  []*exec.Cmd
	logs       []string
	before     figures
}

func bootPlatform(ctx context.Context, dir string) (*platform, error) {
	p := &platform{dir: dir, kubeconfig: filepath.Join(dir, "kubeconfig")}
	printHeading("Starting etcd, kube-apiserver, kube-scheduler and three KWOK nodes; no kube-controller-manager.")
	t := time.Now()
	var err error
	if p.cluster, err = cluster.Run(ctx, cluster.Options{Dir: dir, Nodes: 3}); err != nil {
		return nil, err
	}
	p.client = p.cluster.Client()
	printNote("control plane ready after %.1f s", time.Since(t).Seconds())

	port, err := cluster.FreePort()
	if err != nil {
		p.stop()
		return nil, err
	}
	p.metrics = fmt.Sprint("127.0.0.1:", port)
	if p.http, err = p.cluster.HTTP(); err != nil {
		p.stop()
		return nil, err
	}
	printHeading("Starting Windlass with six controllers, each in its own sandbox.")
	config := filepath.Join(dir, "windlass.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `apiVersion: config.windlass.dev/v1alpha1
kind: ControllerManagerConfiguration
clientConnection:
  kubeconfig: %s
%suseServiceAccountCredentials: true
leaderElection: {leaderElect: false}
controllers: [deployment, replicaset, endpointslice, endpoint, serviceaccount, root-ca-cert-publisher]
`, p.cluster.ManagerKubeconfig, p.cluster.ServingFields(p.metrics)), 0o600); err != nil {
		p.stop()
		return nil, err
	}
	t = time.Now()
	if err := p.startProcess("windlass", "_output/windlass", "run", "--config", config); err != nil {
		p.stop()
		return nil, err
	}
	err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 20*time.Second, true,
		func(context.Context) (bool, error) {
			return p.isReady(), nil
		})
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("windlass did not become ready: %w\n%s", err, p.logTails())
	}
	printNote("six controllers syncing after %.2f s", time.Since(t).Seconds())
	return p, nil
}

func (p *platform) startProcess(name, binary string, args ...string) error {
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("%s is missing: run make demo, which builds it", binary)
	}
	path := filepath.Join(p.dir, name+".log")
	log, err := os.Create(path)
	if err != nil {
		return err
	}
	defer log.Close()
	c := exec.Command(binary, args...)
	c.Stdout, c.Stderr = log, log
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := c.Start(); err != nil {
		return err
	}
	p.processes = append(p.processes, c)
	p.logs = append(p.logs, path)
	return nil
}

// stop ends the processes, the last started first.
func (p *platform) stop() {
	for i := len(p.processes) - 1; i >= 0; i-- {
		c := p.processes[i]
		_ = c.Process.Signal(syscall.SIGTERM)
		t := time.AfterFunc(15*time.Second, func() { _ = c.Process.Kill() })
		_ = c.Wait()
		t.Stop()
	}
	p.processes = nil
	if p.cluster != nil {
		_ = p.cluster.Stop()
	}
}

// logTails returns the end of each process's log.
func (p *platform) logTails() string {
	var b strings.Builder
	for _, path := range p.logs {
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		fmt.Fprintf(&b, "--- %s\n%s\n", filepath.Base(path), strings.Join(lines[max(0, len(lines)-15):], "\n"))
	}
	return b.String()
}

func printHeading(format string, a ...any) {
	text := fmt.Sprintf(format, a...)
	if isTerminal() {
		text = "\033[1m" + text + "\033[0m"
	}
	fmt.Printf("\n%s\n", text)
}

// isTerminal reports whether somebody reads along: a file gets no escape codes, and nobody is waited for.
func isTerminal() bool { return term.IsTerminal(int(os.Stdout.Fd())) }

func printNote(format string, a ...any) { fmt.Printf("  "+format+"\n", a...) }
