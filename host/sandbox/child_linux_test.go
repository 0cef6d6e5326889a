package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCompilingGivesWay: every thread of the child has the lower priority, those too that the runtime had started before.
func TestCompilingGivesWay(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Load(ctx, compilerBomb(), Options{Name: "bomb", Untrusted: true})
		ended <- err
	}()
	seen := ""
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		nice := priorities(t)
		if seen = fmt.Sprint(nice); len(nice) > 2 && strings.Count(seen, fmt.Sprint(childNice)) == len(nice) {
			break
		}
		if time.Now().After(end) {
			t.Errorf("the threads' priorities are %s, expected %d", seen, childNice)
			break
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// priorities are the nice values of the threads of this process's child.
func priorities(t *testing.T) (nice []string) {
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
				if fields := strings.Fields(after); ok && len(fields) > 16 {
					nice = append(nice, fields[16])
				}
			}
		}
	}
	return nice
}
