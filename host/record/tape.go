package record

import (
	"bytes"
	"errors"
)

// Tape answers what a guest performs as it was answered before, as long as it performs the same.
type Tape struct {
	Recorded []Perform
	// Made is what the guest has performed now, without outcomes.
	Made []Perform
	// Strayed says that some of that isn't what was recorded next.
	Strayed bool
	// Same reports whether a perform does the same as the recorded one, though their bytes differ; nil: none does.
	Same func(in, recorded []byte) bool

	next int
}

var (
	// ErrStrayed ends a sync that performs something else than was recorded: what it would be told isn't known.
	ErrStrayed = errors.New("the sync performs something that the recording has no outcome of")

	errRefused = errors.New("refused, as recorded")
)

// Perform returns the recorded outcome, or the error that is to end the sync: [ErrStrayed], or that it ended here.
func (t *Tape) Perform(in []byte) (out []byte, err error) {
	t.Made = append(t.Made, Perform{In: bytes.Clone(in)})
	if t.next >= len(t.Recorded) || !t.same(in, t.Recorded[t.next].In) {
		t.Strayed = true
		return nil, ErrStrayed
	}

	p := &t.Recorded[t.next]
	t.next++
	if p.Refused != "" {
		return nil, errRefused
	}
	return p.Out, nil
}

func (t *Tape) same(in, recorded []byte) bool {
	return bytes.Equal(in, recorded) || t.Same != nil && t.Same(in, recorded)
}

// Left are the performs that were recorded, and that the guest hasn't made.
func (t *Tape) Left() []Perform { return t.Recorded[t.next:] }

// Whole reports whether the guest has performed what was recorded, no less and nothing else.
func (t *Tape) Whole() bool { return !t.Strayed && len(t.Left()) == 0 }
