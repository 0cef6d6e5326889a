package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime/debug"
)

// boundMemory makes the collector run more often, rather than let garbage take more than about half of the machine:
// with 100,000 pods the objects here, of which the API server, the scheduler and KWOK have one each, need some 7 GB,
// and twice that with the garbage that Go allows by default.
func boundMemory() error {
	total, err := machineMemory()
	if err != nil {
		return err
	}
	debug.SetMemoryLimit(total / 20 * 11)
	return nil
}

// machineMemory is the machine's memory in bytes.
func machineMemory() (int64, error) {
	const file = "/proc/meminfo"
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kB int64
		if _, err := fmt.Sscanf(lines.Text(), "MemTotal: %d kB", &kB); err == nil {
			return kB << 10, nil
		}
	}
	return 0, fmt.Errorf("%s has no line MemTotal", file)
}
