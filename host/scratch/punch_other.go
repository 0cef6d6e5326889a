//go:build !linux

package scratch

import "os"

// punch leaves the region there until the process ends.
func punch(*os.File, int64, int64) {}
