package record

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// The format: a magic line with the version, then frames. A frame is its type (one byte), its length (four bytes,
// little endian), so many bytes, and the CRC-32C of all these. The first frame is the header, in JSON; each further one
// a sync, in protobuf's form; the last one says how many there were.
const (
	magic       = "windlass recording 1\n"
	magicFamily = "windlass recording "

	frameHeader = 'H'
	frameSync   = 'S'
	frameEnd    = 'E'

	frameHead = 5
	frameTail = 4

	// FileMax is how large a recording may be that is read.
	FileMax = 1 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// File is a recording: a controller's last syncs, oldest first.
type File struct {
	Controller string    `json:"controller"`
	Saved      time.Time `json:"saved"`
	// Reason says why it was saved.
	Reason  string   `json:"reason,omitempty"`
	Sources []Source `json:"sources"`
	// Kinds are those of custom resources, by resource, as far as they are known: views don't say them.
	Kinds map[string]string `json:"kinds,omitempty"`
	Syncs []Sync            `json:"-"`
}

// NameKinds asks for the kinds of the custom resources that the controller reads or writes: kind returns "" where it
// doesn't know.
func (f *File) NameKinds(kind func(abi.Resource) string) {
	for i := range f.Sources {
		for j := range f.Sources[i].Manifest.Controllers {
			c := &f.Sources[i].Manifest.Controllers[j]
			for k := range c.Views {
				f.nameKind(c.Views[k].Resource, kind)
			}
			for k := range c.Writes {
				f.nameKind(c.Writes[k].Resource, kind)
			}
		}
	}
}

func (f *File) nameKind(of abi.Resource, kind func(abi.Resource) string) {
	if res, err := schema.Named(of); err != nil || !res.Custom || of == schema.Any || f.Kinds[of.String()] != "" {
		return
	}
	if name := kind(of); name != "" {
		if f.Kinds == nil {
			f.Kinds = map[string]string{}
		}
		f.Kinds[of.String()] = name
	}
}

// Append appends the recording in the form of a file. What must not be written out is wiped from the copy, see
// [Redact].
func (f *File) Append(b []byte) ([]byte, error) {
	f = Redact(f)
	header, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("recording of %s: %w", f.Controller, err)
	}
	b = appendFrame(append(b, magic...), frameHeader, header)
	var sync []byte
	for i := range f.Syncs {
		sync = f.Syncs[i].append(sync[:0])
		if uint64(len(sync)) > math.MaxUint32 {
			return nil, fmt.Errorf("recording of %s: a sync of %d bytes", f.Controller, len(sync))
		}
		b = appendFrame(b, frameSync, sync)
	}
	return appendFrame(b, frameEnd, binary.LittleEndian.AppendUint32(nil, uint32(len(f.Syncs)))), nil
}

func appendFrame(b []byte, kind byte, payload []byte) []byte {
	start := len(b)
	b = append(b, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	b = append(b, payload...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

// DamagedError tells where a file stops being a recording.
type DamagedError struct {
	Offset int
	What   string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the recording is damaged at byte %d: %s", e.Offset, e.What)
}

// Parse reads a recording. What is not one, or not whole, is a [DamagedError].
func Parse(b []byte) (*File, error) {
	if len(b) < len(magic) || string(b[:len(magic)]) != magic {
		if len(b) >= len(magicFamily) && string(b[:len(magicFamily)]) == magicFamily {
			return nil, &DamagedError{len(magicFamily), "another version of the format than 1: use the windlass that wrote it"}
		}
		return nil, &DamagedError{0, "not a windlass recording"}
	}

	f := &File{}
	for at, n := len(magic), 0; ; n++ {
		kind, payload, next, err := readFrame(b, at)
		if err != nil {
			return nil, err
		}
		inside := at + frameHead
		switch {
		case n == 0 && kind != frameHeader || n > 0 && kind == frameHeader:
			return nil, &DamagedError{at, "the header must be the first frame and the only one"}
		case kind == frameHeader:
			if err := f.readHeader(payload); err != nil {
				return nil, &DamagedError{inside, err.Error()}
			}
		case kind == frameSync:
			s := Sync{}
			if err := s.decode(payload); err != nil {
				return nil, &DamagedError{inside, fmt.Sprintf("sync %d: %v", len(f.Syncs), err)}
			}
			if s.Source >= len(f.Sources) {
				return nil, &DamagedError{inside, fmt.Sprintf("sync %d ran on source %d, there are %d", len(f.Syncs), s.Source,
					len(f.Sources))}
			}
			f.Syncs = append(f.Syncs, s)
		case kind == frameEnd:
			if len(payload) != 4 || binary.LittleEndian.Uint32(payload) != uint32(len(f.Syncs)) {
				return nil, &DamagedError{inside, fmt.Sprintf("it should end with the number of its syncs, %d", len(f.Syncs))}
			}
			if next != len(b) {
				return nil, &DamagedError{next, fmt.Sprintf("%d bytes after its end", len(b)-next)}
			}
			return f, nil
		default:
			return nil, &DamagedError{at, fmt.Sprintf("a frame of unknown type %q", kind)}
		}
		at = next
	}
}

func readFrame(b []byte, at int) (kind byte, payload []byte, next int, err error) {
	left := len(b) - at
	if left < frameHead+frameTail {
		return 0, nil, 0, &DamagedError{at, fmt.Sprintf("it ends here, %d bytes into a frame", left)}
	}
	kind = b[at]
	length := binary.LittleEndian.Uint32(b[at+1:])
	if uint64(length) > uint64(left-frameHead-frameTail) {
		return 0, nil, 0, &DamagedError{at, fmt.Sprintf("a frame of %d bytes, and it ends after %d", length, left)}
	}
	end := at + frameHead + int(length)
	if crc32.Checksum(b[at:end], castagnoli) != binary.LittleEndian.Uint32(b[end:]) {
		return 0, nil, 0, &DamagedError{at, fmt.Sprintf("the checksum of the frame of %d bytes is wrong", length)}
	}
	return kind, b[at+frameHead : end : end], end + frameTail, nil
}

func (f *File) readHeader(b []byte) error {
	if err := json.Unmarshal(b, f); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	for i := range f.Sources {
		if f.Sources[i].Manifest == nil {
			return fmt.Errorf("header: sources[%d] has no manifest", i)
		}
	}
	return nil
}

// Read reads a recording of a bounded size.
func Read(r io.Reader) (*File, error) {
	b, err := io.ReadAll(io.LimitReader(r, FileMax+1))
	if err != nil {
		return nil, err
	}
	if len(b) > FileMax {
		return nil, errors.New("a recording of more than 1 GiB")
	}
	return Parse(b)
}

// Open reads a recording from a file.
func Open(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	f, err := Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}
