package begin

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// roleVariable has the test binary tell the slack that it runs with.
const roleVariable = "TEST_SLACK"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "events":
		countEvents()
		return
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

// A manager's threads have the slack, in the same process and with its arguments; those of other commands don't, nor do
// a manager's for which another one was chosen.
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

// eventsMost is how many events a process of BenchmarkWakeUps gets.
const eventsMost = 2000

// countEvents waits for an event each millisecond, and says how often the process was woken and what it has worked.
func countEvents() {
	tick := time.NewTicker(time.Millisecond)
	for range eventsMost {
		<-tick.C
	}

	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	fmt.Println(u.Nvcsw, time.Duration(u.Utime.Nano()+u.Stime.Nano()).Microseconds())
}

// BenchmarkWakeUps is what an event each millisecond takes of a process, as a manager and as another program: how often
// its threads were put to sleep, and its processor time.
func BenchmarkWakeUps(b *testing.B) {
	for _, c := range []struct{ name, args string }{{"late", "run"}, {"usual", "status"}} {
		b.Run(c.name, func(b *testing.B) {
			var woken, worked int
			for b.Loop() {
				cmd := exec.CommandContext(b.Context(), os.Args[0], c.args)
				cmd.Env = append(os.Environ(), roleVariable+"=events")
				out, err := cmd.Output()
				if err != nil {
					b.Fatal(err)
				}
				var w, µs int
				if _, err := fmt.Sscan(string(out), &w, &µs); err != nil {
					b.Fatal(err)
				}
				woken, worked = woken+w, worked+µs
			}
			b.ReportMetric(float64(woken)/float64(b.N)/eventsMost, "wake-ups/event")
			b.ReportMetric(float64(worked)/float64(b.N)/eventsMost, "µs/event")
		})
	}
}
