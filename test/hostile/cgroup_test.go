package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cgroup is where the kernel bounds and counts the memory of a process and its children.
type cgroup struct{ peak string } // the file that has the most that was taken

// confine puts a process into a cgroup that may take so much memory, until the test is over. That is root's to do: for
// others, and where the system has no such cgroups, there is none.
func confine(t *testing.T, process int, bytes int64) (*cgroup, error) {
	t.Helper()
	name := fmt.Sprint("windlass-test-", process)
	folder, limit, peak := filepath.Join("/sys/fs/cgroup", name), "memory.max", "memory.peak"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err != nil { // version 1
		folder, limit, peak = filepath.Join("/sys/fs/cgroup/memory", name), "memory.limit_in_bytes", "memory.max_usage_in_bytes"
	} else if err := os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+memory"), 0); err != nil {
		return nil, err
	}

	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = os.Remove(folder) }) // it is in the way of nobody where a process of it ends later
	for file, text := range map[string]int64{limit: bytes, "cgroup.procs": int64(process)} {
		if err := os.WriteFile(filepath.Join(folder, file), fmt.Append(nil, text), 0); err != nil {
			return nil, err
		}
	}
	return &cgroup{filepath.Join(folder, peak)}, nil
}

// most returns the most that was taken, in bytes.
func (g *cgroup) most(t *testing.T) (bytes int64) {
	t.Helper()
	b, err := os.ReadFile(g.peak)
	if err == nil {
		_, err = fmt.Sscan(strings.TrimSpace(string(b)), &bytes)
	}
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}
