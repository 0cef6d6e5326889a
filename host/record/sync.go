package record

import (
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
)

// Sync is one recorded sync.
type Sync struct {
	Source int // index of what it ran on in File.Sources
	Key    abi.KeyRef
	Start  time.Time
	Took   time.Duration // writes included
	// Result is as the metrics count it: ok, error, trap, refused, performed. Error says why.
	Result, Error string

	Request  []byte // a SyncRequest as the guest got it
	Performs []Perform
	Answer   []byte // a SyncResponse
	Answered bool

	// Wrote is what the API server has taken of it, and which events were recorded, as "create v1/pods shop/web-1", in
	// order. What was asked for and changed nothing isn't there, nor what failed. Of many the first hundred, and how many
	// more there are.
	Wrote []string

	Bytes int // of all messages
	// Cut tells that the messages were more than the ring could hold: there are none.
	Cut bool
	// Redacted tells that values were wiped: the sync can't be run again as it was.
	Redacted bool
}

// Perform is one perform of a sync.
type Perform struct {
	In, Out []byte // a PerformRequest, a PerformResponse
	// Refused is the error that ended the sync in place of Out.
	Refused string
}

// The fields of a sync in a ring or a file, in protobuf's form.
const (
	fieldRequest   = 1
	fieldIn        = 2
	fieldOut       = 3 // of the In before it
	fieldRefused   = 4 // in place of Out
	fieldAnswer    = 5
	fieldResource  = 6
	fieldNamespace = 7
	fieldName      = 8
	fieldStart     = 9  // nanoseconds since 1970
	fieldTook      = 10 // nanoseconds
	fieldResult    = 11
	fieldError     = 12
	fieldBytes     = 13
	fieldCut       = 14
	fieldRedacted  = 15
	fieldSource    = 16
	fieldWrote     = 17
)

// append writes the sync as it stands in a file.
func (s *Sync) append(b []byte) []byte {
	if s.Request != nil {
		b = wire.AppendBytes(b, fieldRequest, s.Request)
	}
	for _, p := range s.Performs {
		b = wire.AppendBytes(b, fieldIn, p.In)
		if p.Refused != "" {
			b = wire.AppendString(b, fieldRefused, p.Refused)
		} else {
			b = wire.AppendBytes(b, fieldOut, p.Out)
		}
	}
	if s.Answered {
		b = wire.AppendBytes(b, fieldAnswer, s.Answer)
	}

	b = appendText(b, fieldResource, s.Key.Resource)
	b = appendText(b, fieldNamespace, s.Key.Namespace)
	b = appendText(b, fieldName, s.Key.Name)
	b = wire.AppendUint(b, fieldStart, uint64(s.Start.UnixNano()))
	b = wire.AppendUint(b, fieldTook, uint64(s.Took))
	b = appendText(b, fieldResult, s.Result)
	b = appendText(b, fieldError, s.Error)
	for _, w := range s.Wrote {
		b = wire.AppendString(b, fieldWrote, w)
	}

	b = wire.AppendUint(b, fieldBytes, uint64(s.Bytes))
	if s.Cut {
		b = wire.AppendUint(b, fieldCut, 1)
	}

	if s.Redacted {
		b = wire.AppendUint(b, fieldRedacted, 1)
	}
	return wire.AppendUint(b, fieldSource, uint64(s.Source))
}

// decode reads a sync; what it gives points into b. Fields that it doesn't know are left out: a later version may have
// written them.
func (s *Sync) decode(b []byte) error {
	f := wire.Fields{Data: b}
	for f.Next() {
		if want := wireTypeOf(f.Num); want != f.Type && f.Num <= fieldWrote {
			return fmt.Errorf("at byte %d: field %d has the wrong type", f.Start, f.Num)
		}
		switch f.Num {
		case fieldRequest:
			s.Request = f.Bytes
		case fieldIn:
			s.Performs = append(s.Performs, Perform{In: f.Bytes})
		case fieldOut, fieldRefused:
			if len(s.Performs) == 0 {
				return fmt.Errorf("at byte %d: an outcome without a perform", f.Start)
			}
			p := &s.Performs[len(s.Performs)-1]
			if f.Num == fieldOut {
				p.Out = f.Bytes
			} else {
				p.Refused = string(f.Bytes)
			}
		case fieldAnswer:
			s.Answer, s.Answered = f.Bytes, true
		case fieldResource:
			s.Key.Resource = string(f.Bytes)
		case fieldNamespace:
			s.Key.Namespace = string(f.Bytes)
		case fieldName:
			s.Key.Name = string(f.Bytes)
		case fieldStart:
			s.Start = time.Unix(0, int64(f.Uint))
		case fieldTook:
			s.Took = time.Duration(f.Uint)
		case fieldResult:
			s.Result = string(f.Bytes)
		case fieldError:
			s.Error = string(f.Bytes)
		case fieldWrote:
			s.Wrote = append(s.Wrote, string(f.Bytes))
		case fieldBytes:
			s.Bytes = int(f.Uint)
		case fieldCut:
			s.Cut = f.Uint != 0
		case fieldRedacted:
			s.Redacted = f.Uint != 0
		case fieldSource:
			if f.Uint > 1<<20 {
				return fmt.Errorf("at byte %d: source %d is out of range", f.Start, f.Uint)
			}
			s.Source = int(f.Uint)
		}
	}

	if f.Err != 0 {
		return fmt.Errorf("at byte %d: %w", f.End, f.Err)
	}
	if !s.Cut && s.Request == nil && s.Answered {
		return errors.New("an answer without a request")
	}
	return nil
}

func wireTypeOf(field uint32) wire.WireType {
	switch field {
	case fieldStart, fieldTook, fieldBytes, fieldCut, fieldRedacted, fieldSource:
		return wire.WireVarint
	}
	return wire.WireBytes
}
