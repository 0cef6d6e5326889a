package syncer

import (
	"time"

	"github.com/windlass-dev/windlass/abi"
)

// Timers are when the timers of keys go off that accepted syncs have asked for: as host/controller has them, for those
// who sync keys on a clock of their own.
type Timers map[abi.KeyRef]time.Time

// Set sets a key's timer to what its sync has asked for, 0 for none. That takes the place of an earlier one; after a
// sync that has failed an earlier one that is due sooner stays.
func (t Timers) Set(key abi.KeyRef, now time.Time, after time.Duration, failed bool) {
	due := now.Add(after)
	if was, ok := t[key]; ok && failed && (after == 0 || !due.Before(was)) {
		return
	}
	delete(t, key)
	if after > 0 {
		t[key.Clone()] = due
	}
}

// Until returns how long it is until a key's timer goes off, 0 where it has none or has gone off: see [Turn.Timer].
func (t Timers) Until(key abi.KeyRef, now time.Time) time.Duration {
	due, ok := t[key]
	if !ok {
		return 0
	}
	return max(due.Sub(now), 0)
}
