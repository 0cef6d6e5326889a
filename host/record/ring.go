package record

import (
	"encoding/binary"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/budget"
)

// DefaultBytes is how large a ring may grow where nothing else is said.
const DefaultBytes = 256 << 10

// Before each sync in the ring stand its length and its source, four bytes each.
const prefix = 8

// ringFirst is the size that a ring begins with.
const ringFirst = 4 << 10

// Ring holds the last syncs of one controller. Its methods are safe for concurrent use, and those of a nil Ring do
// nothing.
type Ring struct {
	controller string
	most       atomic.Int64
	writes     writes
	saver      *Saver

	mu      sync.Mutex
	memory  *budget.Memory // of the plugin, which buf counts in
	buf     []byte         // grown to most
	start   int            // of the oldest sync
	used    int
	count   int
	sources map[uint32]*source // of the syncs in the ring
	last    uint32             // the number of the newest source
	running map[abi.KeyRef]*Recording
}

// source is a Source with the number of its syncs in the ring.
type source struct {
	*Source
	id    uint32
	syncs int
}

// NewRing makes a ring of at most so many bytes: of DefaultBytes where it is 0, one that keeps no syncs where it is
// negative.
func NewRing(controller string, bytes int) *Ring {
	if bytes == 0 {
		bytes = DefaultBytes
	}
	r := &Ring{controller: controller, sources: map[uint32]*source{}, running: map[abi.KeyRef]*Recording{}}
	r.most.Store(int64(max(bytes, 0)))
	return r
}

// Resize changes how many bytes the ring may have; bytes is as in NewRing. The newest syncs that there is room for
// stay.
func (r *Ring) Resize(bytes int) {
	if bytes == 0 {
		bytes = DefaultBytes
	}
	most := max(bytes, 0)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.most.Store(int64(most))
	for r.used > most {
		r.dropOldest()
	}
	if len(r.buf) > most {
		smaller := make([]byte, most)
		r.read(smaller[:r.used], 0)
		r.memory.Add(budget.Recordings, int64(len(smaller)-len(r.buf)))
		r.buf, r.start = smaller, 0
	}
}

// CountIn has what the ring keeps count in a plugin's memory from now on, of which it takes at most half: the syncs
// themselves need the rest.
func (r *Ring) CountIn(m *budget.Memory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	held := int64(len(r.buf))
	r.memory.Add(budget.Recordings, -held)
	r.memory = m
	m.Add(budget.Recordings, held)
}

// Controller is the name of the controller whose syncs the ring holds.
func (r *Ring) Controller() string { return r.controller }

// Recorder records the syncs of one version of the controller's plugin.
type Recorder struct {
	ring   *Ring
	source *source
}

// Recorder returns what records the syncs that run on a version.
func (r *Ring) Recorder(s *Source) *Recorder {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	return &Recorder{r, &source{Source: s, id: r.last}}
}

// Begin starts the recording of one sync; its End must follow. A key has at most one.
func (r *Recorder) Begin(key abi.KeyRef, start time.Time) *Recording {
	if r == nil {
		return nil
	}
	rec := recordings.Get().(*Recording)
	*rec = Recording{recorder: r, key: key, start: start, buf: rec.buf[:0]}
	r.ring.mu.Lock()
	r.ring.running[key] = rec
	r.ring.mu.Unlock()
	return rec
}

// putSync adds a sync; the oldest ones make room.
func (r *Ring) putSync(s *source, sync []byte) {
	need := prefix + len(sync)
	if need > int(r.most.Load()) {
		return
	}
	r.growFor(need)
	if need > len(r.buf) {
		return
	}
	for r.used+need > len(r.buf) {
		r.dropOldest()
	}
	s.syncs++
	r.sources[s.id] = s
	var head [prefix]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(sync)))
	binary.LittleEndian.PutUint32(head[4:], s.id)
	r.write(head[:])
	r.write(sync)
	r.count++
}

// growFor makes the ring larger while it may be, so that nothing is dropped yet. Where the plugin's memory has no room,
// it stays as it is.
func (r *Ring) growFor(need int) {
	most := int(r.most.Load())
	if r.used+need <= len(r.buf) || len(r.buf) == most {
		return
	}

	size := min(most, max(ringFirst, 2*len(r.buf), r.used+need))
	more := int64(size - len(r.buf))
	if m := r.memory; m != nil &&
		(m.Held(budget.Recordings)+more > m.Limit()/2 || m.Take(budget.Recordings, more) != nil) {
		return
	}

	larger := make([]byte, size)
	r.read(larger[:r.used], 0)
	r.buf, r.start = larger, 0
}

func (r *Ring) write(b []byte) {
	at := (r.start + r.used) % len(r.buf)
	n := copy(r.buf[at:], b)
	copy(r.buf, b[n:])
	r.used += len(b)
}

// read copies what lies so far behind the oldest sync's begin.
func (r *Ring) read(dst []byte, offset int) {
	if len(dst) == 0 {
		return
	}
	n := copy(dst, r.buf[(r.start+offset)%len(r.buf):])
	copy(dst[n:], r.buf)
}

func (r *Ring) readHead(offset int) (length int, source uint32) {
	var head [prefix]byte
	r.read(head[:], offset)
	return int(binary.LittleEndian.Uint32(head[:])), binary.LittleEndian.Uint32(head[4:])
}

// dropOldest forgets the oldest sync, and its source with the last of it.
func (r *Ring) dropOldest() {
	length, id := r.readHead(0)
	if s := r.sources[id]; s != nil {
		if s.syncs--; s.syncs == 0 {
			delete(r.sources, id)
		}
	}
	r.start = (r.start + prefix + length) % len(r.buf)
	r.used -= prefix + length
	r.count--
}

// Len is how many syncs the ring holds, in how many bytes.
func (r *Ring) Len() (syncs, bytes int) {
	if r == nil {
		return 0, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count, r.used
}

// copied returns a recording with the ring's sources, the place of each there by its number, and the syncs' bytes.
func (r *Ring) copied() (f *File, at map[uint32]int, bytes []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	bytes = make([]byte, r.used)
	r.read(bytes, 0)
	f, at = &File{Controller: r.controller, Saved: time.Now()}, map[uint32]int{}
	for i, id := range slices.Sorted(maps.Keys(r.sources)) {
		at[id] = i
		f.Sources = append(f.Sources, *r.sources[id].Source)
	}
	return f, at, bytes
}

// File returns what the ring holds now, oldest first, as a recording of its own.
func (r *Ring) File() *File {
	f, at, bytes := r.copied()
	for len(bytes) > 0 {
		length, id := int(binary.LittleEndian.Uint32(bytes)), binary.LittleEndian.Uint32(bytes[4:])
		s := Sync{}
		if err := s.decode(bytes[prefix : prefix+length]); err != nil {
			panic("record: a sync in the ring can't be read: " + err.Error()) // we wrote it
		}
		s.Source = at[id]
		f.Syncs = append(f.Syncs, s)
		bytes = bytes[prefix+length:]
	}
	return f
}
