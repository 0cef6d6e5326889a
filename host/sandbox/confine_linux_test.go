//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// confinedName is the name under which the test's program tries what a confined child may do.
const confinedName = "windlass-confined"

func init() {
	if os.Args[0] != confinedName {
		return
	}
	confined, older := make(chan struct{}), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // a thread that is there before
		<-confined
		older <- connect()
	}()
	runtime.Gosched()
	if err := confineChild(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	close(confined)

	fmt.Println("connection:", connect())
	fmt.Println("program:", errors.Unwrap(exec.Command("/bin/true").Run()))
	fmt.Println("signal:", unix.Kill(os.Getppid(), 0))
	fmt.Println("tracing:", unix.PtraceAttach(os.Getppid()))
	fmt.Println("older thread:", <-older)
	fmt.Println("file:", os.WriteFile(filepath.Join(os.Args[1], "code"), []byte("code"), 0o600))
	startThreads()
	fmt.Println("threads: started")
	os.Exit(0)
}

func connect() error {
	_, err := net.Dial("tcp", "127.0.0.1:1")
	var call *os.SyscallError
	if errors.As(err, &call) {
		return call
	}
	return err
}

// startThreads has several threads run at once, and the collector among them: the process ends where it can't.
func startThreads() {
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			runtime.LockOSThread()
			runtime.GC()
		})
	}
	all.Wait()
}

// TestChildIsConfined: a child that compiles can start no program, open no connection and touch no other process, in
// none of its threads, those included that ran before.
func TestChildIsConfined(t *testing.T) {
	c := exec.CommandContext(t.Context(), "/proc/self/exe", t.TempDir())
	c.Args[0] = confinedName
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{
		"connection: socket: operation not permitted", "program: operation not permitted",
		"signal: operation not permitted", "tracing: operation not permitted", "older thread: socket: operation not permitted",
		"file: <nil>", "threads: started",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
