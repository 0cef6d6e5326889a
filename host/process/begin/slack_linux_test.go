package begin

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// roleVariable has the test binary tell the slack that it runs with.
const roleVariable = "TEST_SLACK"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "" {
		os.Exit(m.Run())
	}
	other := make(chan int)
	go func() {
		runtime.LockOSThread() // not the main thread: that one is waiting
		other <- current()
	}()
	runtime.LockOSThread()
	_, left := os.LookupEnv(variable)
	fmt.Println(current(), <-other, os.Getpid(), left, os.Args[1:])
}

func current() int {
	now, _, _ := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_GET_TIMERSLACK, 0, 0)
	return int(now)
}

// A manager's threads have the slack, in the same process and with its arguments; those of other commands don't, nor do a manager's for which another one was chosen.
func TestSlack(t *testing.T) {
	for _, c := range []struct {
		name, args string
		chosen     uintptr // 0: none
		want       int
	}{
		{"windlass", "-v 2 run --config a", 0, wanted},
		{"/usr/local/bin/kube-controller-manager", "--config=a", 0, wanted},
		{"windlass", "status", 0, usual},
		{"windlass", "run", 70_000, 70_000},
	} {
		t.Run(fmt.Sprint(c.name, " ", c.args, c.chosen), func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Args = append([]string{c.name}, strings.Fields(c.args)...)
			cmd.Env = append(os.Environ(), roleVariable+"=1")
			var out strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &out
			slack := c.chosen
			if slack == 0 {
				slack = usual // whatever this process runs with
			}
			failed := make(chan error)
			go func() {
				runtime.LockOSThread() // a thread of its own, which ends with this function
				_, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_TIMERSLACK, slack, 0)
				if e != 0 {
					failed <- e
					return
				}
				failed <- cmd.Start()
			}()
			if err := <-failed; err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v: %s", err, &out)
			}
			if want := fmt.Sprintln(c.want, c.want, cmd.Process.Pid, false, strings.Fields(c.args)); out.String() != want {
				t.Errorf("got %swant %s", &out, want)
			}
		})
	}
}
