//go:build !linux

package plugins

import (
	"os"
	"time"
)

// changedAt returns when a file was changed last.
func changedAt(f os.FileInfo) time.Time { return f.ModTime() }
