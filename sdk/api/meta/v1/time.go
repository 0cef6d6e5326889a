package v1

import "github.com/windlass-dev/windlass/abi/wire"

// The types that travel in a form of their own.
type (
	Time         = wire.Time
	MicroTime    = wire.MicroTime
	IntOrString  = wire.IntOrString
	RawExtension = wire.RawExtension
	StringMap    = wire.StringMap
	Unknown      = wire.Unknown
)

// Map is what stands for a map in API types.
type Map[K ~string, V any] = wire.Dict[K, V]

// Unix returns the Time that lies so many seconds and nanoseconds behind the beginning of 1970.
func Unix(seconds, nanos int64) Time { return wire.Unix(seconds, nanos) }

// UnixNano returns the Time that lies so many nanoseconds behind the beginning of 1970.
func UnixNano(n int64) Time { return wire.UnixNano(n) }
