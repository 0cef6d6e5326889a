package plugins

import (
	"os"
	"syscall"
	"time"
)

// changedAt returns when a file was changed last, which nobody can set back.
func changedAt(f os.FileInfo) time.Time {
	if s, ok := f.Sys().(*syscall.Stat_t); ok {
		return time.Unix(s.Ctim.Unix())
	}
	return f.ModTime()
}
