package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestCompilingGivesWay: every thread of the child, those too that the runtime had started before, runs only while
// nothing else does, and after a while with the lower priority.
func TestCompilingGivesWay(t *testing.T) {
	defer func(m int64) { childMemory = m }(childMemory)
	childMemory *= 8 // it is to run until it is cancelled, beside the race detector's own memory, too
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Load(ctx, compilerBomb(), Options{Name: "bomb", Untrusted: true})
		ended <- err
	}()

	kept, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	nice := max(childNice, 20-kept)

	for _, want := range []string{fmt.Sprint(nice, unix.SCHED_IDLE), fmt.Sprint(nice, unix.SCHED_NORMAL)} {
		for end := time.Now().Add(3 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
			all := priorities(t)
			if len(all) > 2 && !slices.ContainsFunc(all, func(p string) bool { return p != want }) {
				break
			}
			if time.Now().After(end) || len(ended) > 0 {
				t.Fatalf("the threads' priorities and policies are %q, expected %s", all, want)
			}
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A process that has a lower priority already may not raise that of its child, and needn't.
func TestCompilingKeepsALowPriority(t *testing.T) {
	c := exec.CommandContext(t.Context(), "nice", "-n", "10", os.Args[0], "-test.run", "^TestCompilingGivesWay$")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// priorities are the nice values and the scheduling policies of the threads of this process's child.
func priorities(t *testing.T) (all []string) {
	t.Helper()
	children, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range children {
		pids, _ := os.ReadFile(c) // the thread may have ended
		for _, pid := range strings.Fields(string(pids)) {
			threads, _ := filepath.Glob("/proc/" + pid + "/task/*/stat")
			for _, s := range threads {
				stat, _ := os.ReadFile(s)
				_, after, ok := strings.Cut(string(stat), ") ") // the name before may have spaces
				if fields := strings.Fields(after); ok && len(fields) > 38 {
					all = append(all, fields[16]+" "+fields[38])
				}
			}
		}
	}
	return all
}
