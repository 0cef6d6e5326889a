package cluster

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// Ward returns the process that runs the controllers of a windlass that was started: the process itself, or its child
// where it stands behind that as a guardian.
func Ward(pid int) (int, error) {
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return 0, err
	}
	if !bytes.HasPrefix(environment, []byte("WINDLASS_GUARDIAN=")) &&
		!bytes.Contains(environment, []byte("\x00WINDLASS_GUARDIAN=")) {
		return pid, nil
	}
	path := fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", pid)
	children, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	ward := 0
	if _, err := fmt.Sscan(strings.TrimSpace(string(children)), &ward); err != nil {
		return 0, fmt.Errorf("%s: %q: the guardian has no ward", path, children)
	}
	return ward, nil
}
