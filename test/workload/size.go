package workload

import "os"

// Size returns how many there are to be in a test: few, so that make test takes minutes, or with FULL=1 in the
// environment, as make scale has it, as many as a large cluster has.
func Size(few, full int) int {
	if os.Getenv("FULL") != "" {
		return full
	}
	return few
}
