package record

import (
	"fmt"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
)

// Recording is one sync that is being recorded. It is used by one goroutine; those of its methods that take messages
// copy them. The methods of a nil Recording do nothing.
type Recording struct {
	recorder *Recorder
	key      abi.KeyRef
	start    time.Time
	buf      []byte // the sync as in the ring, so far
	bytes    int    // of all its messages
	cut      bool   // they are more than the ring can hold
	wrote    []*Write
}

// recordings are used again, with their buffers; the garbage collector frees those that aren't.
var recordings = sync.Pool{New: func() any { return &Recording{} }}

// addMessage takes in a message, or remembers that there is no room for it.
func (r *Recording) addMessage(field uint32, b []byte) {
	r.bytes += len(b)
	if r.cut {
		return
	}
	if len(r.buf)+len(b)+overhead > int(r.recorder.ring.most.Load()) {
		r.cut, r.buf = true, r.buf[:0]
		return
	}
	r.buf = wire.AppendBytes(r.buf, field, b)
}

// overhead is more than what a sync needs beside its messages, its error and its key.
const overhead = 256

// Request takes the call as the guest got it.
func (r *Recording) Request(b []byte) {
	if r != nil {
		r.addMessage(fieldRequest, b)
	}
}

// Performed takes what the guest has asked for in the middle of the sync and what it was told, or the error that ended
// the sync.
func (r *Recording) Performed(in, out []byte, err error) {
	if r == nil {
		return
	}
	r.addMessage(fieldIn, in)
	if err != nil {
		r.addMessage(fieldRefused, []byte(bounded(err.Error())))
		return
	}
	r.addMessage(fieldOut, out)
}

// Answered takes the guest's answer.
func (r *Recording) Answered(b []byte) {
	if r != nil {
		r.addMessage(fieldAnswer, b)
	}
}

// errorMax bounds an error's text.
const errorMax = 4 << 10

func bounded(s string) string { return s[:min(len(s), errorMax)] }

// End ends the recording: result and err are how the sync ended, as the metrics count it.
func (r *Recording) End(result string, err error) {
	if r == nil {
		return
	}
	text := ""
	if err != nil {
		text = bounded(err.Error())
	}

	ring := r.recorder.ring
	did := r.lockedWrites()
	if r.cut || len(r.buf)+len(did)+len(text)+len(r.key.Name)+overhead > int(ring.most.Load()) {
		r.cut, r.buf = true, r.buf[:0]
	}

	b := append(r.buf, did...)
	b = appendText(b, fieldResource, r.key.Resource)
	b = appendText(b, fieldNamespace, r.key.Namespace)
	b = appendText(b, fieldName, r.key.Name)
	b = wire.AppendUint(b, fieldStart, uint64(r.start.UnixNano()))
	b = wire.AppendUint(b, fieldTook, uint64(max(time.Since(r.start), 0)))
	b = appendText(b, fieldResult, result)
	b = appendText(b, fieldError, text)
	b = wire.AppendUint(b, fieldBytes, uint64(r.bytes))
	if r.cut {
		b = wire.AppendUint(b, fieldCut, 1)
	}

	r.buf = b
	saver := r.putInto(ring, result, text)
	if err != nil {
		saver.saveFailed(ring, result, err)
	}
	*r = Recording{buf: r.buf[:0]}
	recordings.Put(r)
}

// putInto puts the sync, which has ended, into the ring, and returns who saves what failed.
func (r *Recording) putInto(ring *Ring, result, text string) *Saver {
	ring.mu.Lock()
	defer ring.mu.Unlock()
	if ring.running[r.key] == r {
		delete(ring.running, r.key)
	}
	ring.putSync(r.recorder.source, r.buf)
	ring.writes.noteEnded(r.wrote, result, text)
	return ring.saver
}

// lockedWrites is encodeWrites under the ring's lock.
func (r *Recording) lockedWrites() []byte {
	r.recorder.ring.mu.Lock()
	defer r.recorder.ring.mu.Unlock()
	return r.encodeWrites()
}

// wroteMost is how many of a sync's writes are recorded one by one.
const wroteMost = 100

// encodeWrites returns the sync's writes as they stand in the ring. The caller holds the ring's lock.
func (r *Recording) encodeWrites() (b []byte) {
	for i, w := range r.wrote {
		if i == wroteMost {
			return appendText(b, fieldWrote, fmt.Sprintf("%d more", len(r.wrote)-i))
		}
		b = appendText(b, fieldWrote, w.String())
	}
	return b
}

func appendText(b []byte, field uint32, s string) []byte {
	if s == "" {
		return b
	}
	return wire.AppendString(b, field, s)
}
