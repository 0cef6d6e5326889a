package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/windlass-dev/windlass/host/printable"
)

// A program that is started under the child's name checks a module and ends, before its main begins: so every program
// that has this package can be its own child, tests as well.
func init() {
	if len(os.Args) == 0 || os.Args[0] != childName {
		return
	}
	var err error
	if n := len(os.Args); n < 4 {
		err = errors.New("arguments are missing")
	} else {
		err = limitChild(os.Args[n-3], os.Args[n-2], os.Args[n-1])
	}
	if err == nil {
		err = confineChild()
	}
	if err == nil {
		err = childMain(os.Args[1:], os.Stdin)
	}
	if err != nil {
		fmt.Fprint(os.Stderr, err)
		os.Exit(childRefuses)
	}
	os.Exit(0)
}

const (
	childRefuses = 10 // the child's exit code where it has a reason to tell; Go's runtime ends with 2

	// childNice has syncs go first where the processors are busy, and gives the child its share all the same: what takes
	// less than a second alone has to be done within childTime on a machine that is overloaded, too.
	childNice = 5
)

// limitChild bounds this process, before it has read anything. What a Go program maps at its start is much and doesn't
// count.
func limitChild(priority, seconds, bytes string) error {
	cpu, err := strconv.ParseUint(seconds, 10, 16)
	if err != nil {
		return err
	}
	memory, err := strconv.ParseUint(bytes, 10, 40)
	if err != nil {
		return err
	}

	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}

	var mapped uint64
	if _, err := fmt.Sscan(string(text), &mapped); err != nil {
		return fmt.Errorf("/proc/self/statm: %w", err)
	}

	debug.SetMemoryLimit(int64(memory / 4 * 3))
	debug.SetGCPercent(1000) // the process ends before collecting pays; a fifth less processor time
	if err := lowerPriority(); err != nil {
		return fmt.Errorf("lowering the priority: %w", err)
	}
	if priority == priorityIdle {
		giveWay()
	}

	for _, l := range []struct {
		resource int
		most     uint64
	}{
		{unix.RLIMIT_AS, mapped*uint64(os.Getpagesize()) + memory},
		{unix.RLIMIT_CPU, cpu},
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, memory / 4},
	} {
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: l.most, Max: l.most}); err != nil {
			return fmt.Errorf("limiting resource %d: %w", l.resource, err)
		}
	}
	return nil
}

// lowerPriority lowers the priority of this process, unless it has inherited one that is as low: few may raise theirs.
func lowerPriority() error {
	kept, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return err
	}
	if nice := 20 - kept; nice >= childNice { // as the system call has it, see getpriority(2)
		return nil
	}
	// All threads that the runtime has started already: it is a process group of its own.
	return unix.Setpriority(unix.PRIO_PGRP, 0, childNice)
}

// giveWay has all threads of this process run only while nothing else wants to, and stop at once when something does.
// Where the system doesn't allow that, they have childNice.
func giveWay() {
	for changed := true; changed; { // a thread may start another one meanwhile
		changed = false
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return
		}
		for _, t := range threads {
			id, err := strconv.Atoi(t.Name())
			if err != nil {
				continue
			}
			if now, err := unix.SchedGetAttr(id, 0); err != nil || now.Policy == unix.SCHED_IDLE {
				continue
			}
			changed = unix.SchedSetAttr(id, &unix.SchedAttr{Policy: unix.SCHED_IDLE}, 0) == nil || changed
		}
	}
}

// runChild starts this program as a child, and reports why the child did not come through with the module.
func runChild(ctx context.Context, wasm []byte, args ...string) error {
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args = append([]string{childName}, args...)
	cmd.Env, cmd.Dir = []string{}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdin = bytes.NewReader(wasm)
	said := &head{most: 4 << 10}
	cmd.Stderr = said
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	status, _ := exit.Sys().(syscall.WaitStatus)
	text, took := printable.Line(said.String(), 1024), exit.UserTime()+exit.SystemTime()
	switch {
	case exit.ExitCode() == childRefuses:
		return errors.New(text)
	case status.Signaled() && ctx.Err() == nil && took >= time.Duration(childSeconds)*time.Second/2:
		// The kernel counts by its clock's ticks where it limits, and exactly here: beside others that may be seconds apart.
		return errChildCPU
	case strings.Contains(text, "out of memory"), strings.Contains(text, "cannot allocate memory"):
		return errChildMemory
	}
	return fmt.Errorf("%w: %s", err, text)
}

// head keeps the first bytes of what is written to it.
type head struct {
	bytes.Buffer
	most int
}

func (h *head) Write(b []byte) (int, error) {
	h.Buffer.Write(b[:min(len(b), h.most-h.Len())])
	return len(b), nil
}
