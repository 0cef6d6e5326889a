package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Native runs the native kube-controller-manager on the cluster with these controllers and further flags, until it is
// stopped or the test is over. It needs no port and no Lease; what it logs is in the cluster's folder.
func (c *Cluster) Native(t testing.TB, controllers []string, flags ...string) (stop func()) {
	t.Helper()
	path := filepath.Join(c.Dir, "kube-controller-manager.log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	cmd := c.nativeManager(ctx, strings.Join(controllers, ","), flags...)
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	c.native = cmd.Process.Pid
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		log.Close()
	}()

	stop = sync.OnceFunc(func() {
		select {
		case err := <-ended:
			t.Errorf("the native manager ended by itself: %v\n%s", err, Tail(path))
		default:
			cancel()
			<-ended // with 1, as it was interrupted
		}
	})

	t.Cleanup(stop)
	return stop
}

// NativeCPU is the processor time that the native manager, which is running, has used.
func (c *Cluster) NativeCPU(t testing.TB) time.Duration {
	t.Helper()
	return CPU(t, c.native)
}

// CPU is the processor time that a process has used.
func CPU(t testing.TB, process int) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil {
		t.Fatal(err)
	}
	// Behind the program's name, which may hold anything: utime and stime, in hundredths of a second.
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	var sum int
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return time.Duration(sum) * 10 * time.Millisecond
}

// nativeManager is a command, not yet started, that runs the native kube-controller-manager on the cluster with the
// controllers of the list (upstream's --controllers) and further flags. It needs no port and no Lease. An interrupt
// stops it.
func (c *Cluster) nativeManager(ctx context.Context, controllers string, flags ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, Binary(), append([]string{"kube-controller-manager", "--",
		"--kubeconfig=" + c.ManagerKubeconfig,
		"--controllers=" + controllers,
		"--root-ca-file=" + c.CAFile,
		"--service-account-private-key-file=" + c.TokenKeyFile,
		"--cluster-signing-cert-file=" + c.CAFile,
		"--cluster-signing-key-file=" + c.CAKeyFile,
		"--use-service-account-credentials",
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=1000",
		"--kube-api-burst=1000",
	}, flags...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}
