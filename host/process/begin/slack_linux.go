package begin

import (
	"os"
	"slices"
	"strings"
	"syscall"
)

// In nanoseconds.
const (
	usual  = 50_000
	wanted = 500_000
)

// variable is in the environment of a process that has started itself anew, so that it does it once whatever the kernel
// makes of it.
const variable = "WINDLASS_SLACK"

// lateWakeUps has the kernel wake a manager's threads up to half a millisecond late (PR_SET_TIMERSLACK of prctl(2)),
// not 50 µs as it does by default.
//
// Go's own monitor, a thread that a program has no hold of, sleeps for 20 µs at a time, fifty times and more whenever
// the process was idle and isn't any more. Of a manager that gets an event each millisecond, that is a tenth of its
// processor time and more: the benchmark job takes 0.145 s of it a second so, and 0.153 s without
// (docs/performance.md). Nothing that a manager waits for is to be exact to less than a millisecond.
//
// A thread has its slack from the one that has started it, and only a privileged process can change another thread's.
// So the process starts itself anew, once, with the slack that all its threads then inherit; its number, its arguments
// and its environment stay. It does so if it has "run" among its arguments, or is called kube-controller-manager. Where
// the slack isn't the default one somebody has chosen it, as with TimerSlackNSec= of systemd: it stays as it is.
func lateWakeUps() {
	if _, again := os.LookupEnv(variable); again {
		os.Unsetenv(variable)
		return
	}
	if !isManager(os.Args) {
		return
	}
	if now, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_GET_TIMERSLACK, 0, 0); e != 0 || now != usual {
		return
	}
	program, err := os.Executable()
	if err != nil {
		return
	}
	if _, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_TIMERSLACK, wanted, 0); e != 0 {
		return
	}
	// where that can't be it goes on, and most of its threads have the usual slack
	_ = syscall.Exec(program, os.Args, append(os.Environ(), variable+"=1"))
}

// isManager reports whether a process with these arguments is a manager.
func isManager(args []string) bool {
	return len(args) > 0 && (args[0][strings.LastIndexByte(args[0], '/')+1:] == "kube-controller-manager" ||
		slices.Contains(args[1:], "run"))
}
