package v1

import (
	"time"
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
)

// Duration is a length of time such as 1h30m, kept as it was written; empty is none.
type Duration struct{ Text string }

// DurationOf returns d as text.
func DurationOf(d time.Duration) Duration { return Duration{d.String()} }

// Get returns the length of time; none where the text says none that [time.ParseDuration] can read.
func (d Duration) Get() (length time.Duration, ok bool) {
	length, err := time.ParseDuration(d.Text)
	return length, err == nil
}

// DurationTable is the table of Duration.
var DurationTable = wire.Type{Size: unsafe.Sizeof(Duration{}), Form: wire.Bare, New: wire.Grow[Duration],
	Fields: []wire.Field{{Num: 1, Kind: wire.String}}}
