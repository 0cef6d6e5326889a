package wire

import (
	"time"
	"unsafe"
)

// Time is a moment. Its zero value is unset, which no moment after the year 1 equals, 1970 least of all.
//
// As in Kubernetes it travels in whole seconds; [MicroTime] travels in microseconds.
type Time struct {
	seconds int64 // since the beginning of the year 1
	nanos   int32
}

// MicroTime is a Time that travels in microseconds.
type MicroTime struct{ Time }

// epoch is 1970 in seconds since the year 1.
const epoch = 62135596800

var timeFields = []Field{
	{Num: 1, Kind: Int64, Offset: unsafe.Offsetof(Time{}.seconds)},
	{Num: 2, Kind: Int32, Offset: unsafe.Offsetof(Time{}.nanos)},
}

// The tables of Time and MicroTime.
var (
	TimeTable      = Type{Size: unsafe.Sizeof(Time{}), Form: instant, New: Grow[Time], Fields: timeFields}
	MicroTimeTable = Type{Size: unsafe.Sizeof(MicroTime{}), Form: instants, New: Grow[MicroTime], Fields: timeFields}
)

// Unix returns the Time that lies so many seconds and nanoseconds behind the beginning of 1970.
func Unix(seconds, nanos int64) Time {
	seconds += nanos / 1e9
	if nanos %= 1e9; nanos < 0 {
		nanos += 1e9
		seconds--
	}
	return Time{seconds + epoch, int32(nanos)}
}

// UnixNano returns the Time that lies so many nanoseconds behind the beginning of 1970.
func UnixNano(n int64) Time { return Unix(0, n) }

// IsZero reports whether t is unset; a nil pointer is.
func (t *Time) IsZero() bool { return t == nil || *t == Time{} }

// Unix returns the seconds since 1970.
func (t Time) Unix() int64 { return t.seconds - epoch }

// UnixNano returns the nanoseconds since 1970; it overflows outside the years 1678 to 2262.
func (t Time) UnixNano() int64 { return t.Unix()*1e9 + int64(t.nanos) }

// Nanosecond returns the nanoseconds within the second.
func (t Time) Nanosecond() int { return int(t.nanos) }

// Std returns t as one of package time's, which knows dates, in UTC.
func (t Time) Std() time.Time { return time.Unix(t.Unix(), int64(t.nanos)).UTC() }

// Before reports whether t is earlier than u.
func (t Time) Before(u Time) bool {
	return t.seconds < u.seconds || t.seconds == u.seconds && t.nanos < u.nanos
}

// After reports whether t is later than u.
func (t Time) After(u Time) bool { return u.Before(t) }

// Equal reports whether t and u are the same moment.
func (t Time) Equal(u Time) bool { return t == u }

// Compare is -1 where t is earlier than u, 1 where it is later, 0 where they are the same.
func (t Time) Compare(u Time) int {
	switch {
	case t.Before(u):
		return -1
	case u.Before(t):
		return 1
	}
	return 0
}

// Add returns the moment d after t.
func (t Time) Add(d time.Duration) Time {
	u := Unix(t.Unix()+int64(d/time.Second), int64(t.nanos)+int64(d%time.Second))
	return u
}

// Sub returns how long t is after u, at most what a Duration holds.
func (t Time) Sub(u Time) time.Duration {
	const most = 1<<63 - 1
	s := t.seconds - u.seconds
	switch {
	case s > most/1000000000-1:
		return most
	case s < -most/1000000000+1:
		return -most - 1
	}
	return time.Duration(s*1e9 + int64(t.nanos) - int64(u.nanos))
}

// Truncate returns t in whole seconds, as it will be read back.
func (t Time) Truncate() Time { t.nanos = 0; return t }

// fromWire turns the seconds since 1970 that were decoded into our own, and drops what the form doesn't carry.
func (t *Time) fromWire(f Form) {
	t.seconds += epoch
	t.roundTo(f)
}

func (t *Time) roundTo(f Form) {
	if f == instant || t.nanos < 0 || t.nanos >= 1e9 {
		t.nanos = 0
	}
	t.nanos -= t.nanos % 1000
}

func (t *Time) appendWire(b []byte, f Form) []byte {
	if t.IsZero() {
		return b
	}
	u := *t
	u.roundTo(f)
	b = AppendUint(b, 1, uint64(u.Unix()))
	if u.nanos != 0 {
		b = AppendUint(b, 2, uint64(u.nanos))
	}
	return b
}
