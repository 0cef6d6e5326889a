// Package zones answers what guests ask about time zones, whose database no module carries.
package zones

import (
	"math"
	"strings"
	"time"
	_ "time/tzdata" // where the machine has no zone database

	"github.com/windlass-dev/windlass/abi"
)

// UnknownTimeZone is the reason of a failure: the database has no such zone.
const UnknownTimeZone = "UnknownTimeZone"

// Error says why there is no such zone, in the words of [time.LoadLocation].
type Error struct{ err error }

func (e *Error) Error() string { return e.err.Error() }

// Reason is [UnknownTimeZone].
func (e *Error) Reason() string { return UnknownTimeZone }

// Find returns the period of a zone that the moment lies in. The zones are those of the machine, and where it has none
// those that the binary was built with; as with [time.LoadLocation] there are UTC, also without a name, and
// [abi.LocalZone] beside them. The error is an [Error].
func Find(z *abi.Zone) (*abi.ZonePeriod, error) {
	location, err := time.LoadLocation(strings.Clone(z.Name)) // which keeps the name
	if err != nil {
		return nil, &Error{err}
	}

	at := time.Unix(z.At, 0).In(location)
	_, offset := at.Zone()
	p := &abi.ZonePeriod{Offset: int32(offset), Begin: math.MinInt64, End: math.MaxInt64}
	begin, end := at.ZoneBounds()
	if !begin.IsZero() {
		p.Begin = min(begin.Unix(), z.At)
	}
	if !end.IsZero() {
		p.End = endAfter(z.At, end.Unix())
	}
	return p, nil
}

// endAfter returns the end of the period that a moment lies in. By Go 1.26 one that lasts until the next year ends with
// the 365th day of this one, also in a year with 366, and so before a moment in that day. Then it ends with the day.
func endAfter(at, end int64) int64 {
	const day = 24 * 60 * 60
	if end > at {
		return end
	}
	if at > math.MaxInt64-day {
		return math.MaxInt64
	}
	return at - ((at%day)+day)%day + day
}
