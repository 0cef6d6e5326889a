//go:build !linux

package guardian

import (
	"errors"
	"syscall"
)

// Files are open files that a manager shares with its guardian.
type Files [3]int

// Begin does nothing: this process is neither a guardian nor a ward.
func Begin() {}

// Enter fails: there are guardians on Linux alone.
func Enter(Files) error { return errors.ErrUnsupported }

// Ward reports that this process has no guardian.
func Ward() (guardian int, f Files, ok bool) { return 0, f, false }

// Heir reports that this process is nobody's.
func Heir() (ended syscall.WaitStatus, f Files, ok bool) { return 0, f, false }

// Code is the exit code that tells how a process has ended.
func Code(ended syscall.WaitStatus) int { return ended.ExitStatus() }
