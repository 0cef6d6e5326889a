// Package files reads what several files say together, such as a certificate and its key, and reads it again when they
// change.
package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Max bounds the size of a file, in bytes.
const Max = 1 << 20

// settleTime is after which time content that makes no sense is read once more: a certificate and its key are written
// one after the other.
const settleTime = 100 * time.Millisecond

// Parsed is what one or several files say together, as of the last [Parsed.Refresh] that could make sense of them.
type Parsed[T any] struct {
	paths []string
	parse func(contents [][]byte) (T, error)
	value atomic.Pointer[T]

	mu   sync.Mutex
	last [][]byte // as it was looked at last
	err  error    // why that isn't taken
}

// Open reads the files. Errors name them; parse's need not.
func Open[T any](parse func(contents [][]byte) (T, error), paths ...string) (*Parsed[T], error) {
	s := &Parsed[T]{paths: paths, parse: parse}
	if _, err := s.Refresh(); err != nil {
		return nil, err
	}
	return s, nil
}

// Value is what the files say.
func (s *Parsed[T]) Value() T { return *s.value.Load() }

// Err is why what the files say isn't taken, as of the last look at them; nil: it is.
func (s *Parsed[T]) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Refresh reads the files anew. It tells whether the value is another one now; an error, which stays until the files
// are mended, is why what they say isn't taken.
func (s *Parsed[T]) Refresh() (changed bool, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if changed, err := s.refresh(); err == nil || s.value.Load() == nil {
		return changed, err
	}
	time.Sleep(settleTime)
	return s.refresh()
}

func (s *Parsed[T]) refresh() (changed bool, _ error) {
	contents := make([][]byte, len(s.paths))
	for i, path := range s.paths {
		b, err := readFile(path)
		if err != nil {
			s.last, s.err = nil, err
			return false, err
		}
		contents[i] = b
	}
	if s.last != nil && slices.EqualFunc(contents, s.last, bytes.Equal) {
		return false, s.err
	}
	v, err := s.parse(contents)
	if err != nil {
		err = fmt.Errorf("%s: %w", strings.Join(s.paths, " with "), err)
	} else {
		s.value.Store(&v)
	}
	s.last, s.err = contents, err
	return err == nil, err
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, Max+1))
	switch {
	case err != nil:
		return nil, err
	case len(b) > Max:
		return nil, fmt.Errorf("%s: is larger than %d bytes", path, Max)
	case len(b) == 0:
		return nil, fmt.Errorf("%s: %w", path, errEmpty)
	}
	return b, nil
}

var errEmpty = errors.New("is empty")
