// Package subject runs a controller manager under measurement: the native one or Windlass, each as a process of its
// own.
package subject

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/windlass-dev/windlass/test/cluster"
)

// Kind is which manager.
type Kind string

// The two that are compared.
const (
	Native   Kind = "native"
	Windlass Kind = "windlass"
)

// Options say how a manager runs. They are the same for both kinds.
type Options struct {
	Controllers []string
	QPS         int           // of each client, and its burst
	HPAPeriod   time.Duration // of the horizontal pod autoscalers; 0 is upstream's own
	Profiled    string        // a program to run in place of windlass, which serves profiles; empty for none
	// with leader election, as a standby that is "cold" (as the native one always is) or "warm"; empty: without
	Standby string
	Name    string // what its files are called, by default as the kind
}

// Subject is a running manager.
type Subject struct {
	Kind    Kind
	PID     int
	Started time.Time
	Address string // host:port of what it says of itself

	log   string
	proxy *proxy
	pprof string // host:port of the profiles
	cmd   *exec.Cmd
	ended chan struct{}
	err   error
	once  sync.Once
}

// Start starts a manager on a cluster and returns at once.
func Start(k Kind, c *cluster.Cluster, o Options) (*Subject, error) {
	if o.Name == "" {
		o.Name = string(k)
	}
	s := &Subject{Kind: k, log: filepath.Join(c.Dir, o.Name+".log"), ended: make(chan struct{})}
	kubeconfig, err := s.proxyKubeconfig(c, o.Name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k, err)
	}

	port, err := cluster.FreePort()
	if err != nil {
		s.proxy.Close()
		return nil, fmt.Errorf("%s: %w", k, err)
	}

	s.Address = fmt.Sprint("127.0.0.1:", port)
	if k == Native {
		s.cmd, err = nativeCommand(c, kubeconfig, port, o)
	} else {
		s.cmd, err = windlass(c, kubeconfig, port, o)
		if o.Profiled != "" && err == nil {
			err = s.profiled(o.Profiled)
		}
	}

	var log *os.File
	if err == nil {
		log, err = os.Create(s.log)
	}

	if err == nil {
		defer log.Close() // the child has its own
		s.cmd.Stdout, s.cmd.Stderr = log, log
		s.Started = time.Now()
		err = s.cmd.Start()
	}

	if err != nil {
		s.proxy.Close()
		return nil, fmt.Errorf("%s: %w", k, err)
	}

	s.PID = s.cmd.Process.Pid
	go func() {
		s.err = s.cmd.Wait()
		close(s.ended)
	}()
	return s, nil
}

// proxyKubeconfig writes a kubeconfig that leads to the API server by way of a proxy that counts.
func (s *Subject) proxyKubeconfig(c *cluster.Cluster, name string) (string, error) {
	config, err := clientcmd.LoadFromFile(c.ManagerKubeconfig)
	if err != nil {
		return "", err
	}
	server := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
	host, ok := strings.CutPrefix(server.Server, "https://")
	if !ok {
		return "", fmt.Errorf("%s: server %q is not https", c.ManagerKubeconfig, server.Server)
	}
	if s.proxy, err = startProxy(host); err != nil {
		return "", err
	}
	server.Server = "https://" + s.proxy.Address()
	path := filepath.Join(c.Dir, name+".measured.kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		s.proxy.Close()
		return "", err
	}
	return path, nil
}

// nativeCommand returns the command of the native manager, which is a part of the devcluster program. It serves its
// metrics and profiles with the API server's certificate, so that making one of its own doesn't count.
func nativeCommand(c *cluster.Cluster, kubeconfig string, port int, o Options) (*exec.Cmd, error) {
	names, err := knownNatively(o.Controllers)
	if err != nil {
		return nil, err
	}
	in := func(name string) string { return filepath.Join(c.Dir, name) }
	args := []string{
		"kube-controller-manager", "--",
		"--kubeconfig=" + kubeconfig,
		"--controllers=" + strings.Join(names, ","),
		"--root-ca-file=" + c.CAFile,
		"--cluster-signing-cert-file=" + c.CAFile, "--cluster-signing-key-file=" + c.CAKeyFile,
		"--service-account-private-key-file=" + c.TokenKeyFile,
		"--use-service-account-credentials",
		fmt.Sprint("--leader-elect=", o.Standby != ""),
		fmt.Sprint("--kube-api-qps=", o.QPS), fmt.Sprint("--kube-api-burst=", o.QPS),
		"--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", port),
		"--tls-cert-file=" + in("apiserver.crt"), "--tls-private-key-file=" + in("apiserver.key"),
		"--authorization-always-allow-paths=/healthz,/metrics,/debug/*",
	}
	if o.HPAPeriod > 0 {
		args = append(args, "--horizontal-pod-autoscaler-sync-period="+o.HPAPeriod.String())
	}
	return exec.Command(cluster.Binary(), args...), nil
}

// windlass is the command of Windlass.
func windlass(c *cluster.Cluster, kubeconfig string, port int, o Options) (*exec.Cmd, error) {
	program := Program()
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("%s is missing: run make build", program)
	}

	cert, key := c.ServingCertificate() // as the native one
	text := fmt.Sprintf(`apiVersion: config.windlass.dev/v1alpha1
kind: ControllerManagerConfiguration
clientConnection: {kubeconfig: %q, qps: %d, burst: %d}
serving: {port: %d, tls: {certFile: %q, keyFile: %q}, authorization: {alwaysAllowPaths: [/healthz, /readyz, /metrics, /debug/*]}}
useServiceAccountCredentials: true
leaderElection: {leaderElect: %t, standby: %q}
controllers: [%s]
signing: {certFile: %q, keyFile: %q, serviceAccountKeyFile: %q}
plugins:
- {name: rootca, settings: {root-ca-file: %q}}
`, kubeconfig, o.QPS, o.QPS, port, cert, key, o.Standby != "", cmp.Or(o.Standby, "cold"),
		strings.Join(o.Controllers, ", "), c.CAFile, c.CAKeyFile, c.TokenKeyFile, c.CAFile)

	if o.HPAPeriod > 0 {
		text += fmt.Sprintf("- {name: horizontalpodautoscaler, settings: {horizontal-pod-autoscaler-sync-period: %q}}\n",
			o.HPAPeriod)
	}

	// In a folder of its own: windlass watches that, and the cluster's has a log which is written all the time.
	config := filepath.Join(c.Dir, o.Name, "windlass.yaml")
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return exec.Command(program, "run", "--config", config), nil
}

// Program is where make build leaves windlass.
func Program() string { return filepath.Join(filepath.Dir(cluster.Binary()), "windlass") }

// Err is why the manager has ended, with the end of its log; nil while it runs.
func (s *Subject) Err() error {
	select {
	case <-s.ended:
		return fmt.Errorf("%s ended by itself: %v; its log ends with:\n%s", s.Kind, s.err, cutLongLines(cluster.Tail(s.log)))
	default:
		return nil
	}
}

// cutLongLines cuts long lines, of which managers log some that name a thousand pods.
func cutLongLines(text string) string {
	const most = 300
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if len(l) > most {
			lines[i] = l[:most] + "…"
		}
	}
	return strings.Join(lines, "\n")
}

// Stop ends the manager and waits for that.
func (s *Subject) Stop() { s.terminate(syscall.SIGTERM) }

// Kill sends the process that runs the controllers SIGKILL, and where that has a guardian and both is true also that.
// It doesn't wait; Stop does.
func (s *Subject) Kill(both bool) error {
	ward, err := cluster.Ward(s.PID)
	if err != nil {
		return err
	}
	if both {
		err = s.cmd.Process.Kill()
	}
	if ward != s.PID || !both {
		err = errors.Join(err, syscall.Kill(ward, syscall.SIGKILL)) // the process that was started here, or its child
	}
	return err
}

func (s *Subject) terminate(how syscall.Signal) {
	s.once.Do(func() {
		_ = s.cmd.Process.Signal(how) // this one process, which was started here and not yet waited for
		select {
		case <-s.ended:
		case <-time.After(20 * time.Second):
			_ = s.cmd.Process.Kill()
			<-s.ended
		}
		s.proxy.Close()
	})
}
