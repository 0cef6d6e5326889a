package plugins

import (
	"os"
	"sync"
	"time"
)

// Watched is a Folder that is looked into again and again: a file is read anew only where it may have changed. It is
// safe for concurrent use.
type Watched struct {
	Folder

	mu   sync.Mutex
	seen map[string]seenFile // by path
}

// seenFile is a file as it was when it was read.
type seenFile struct {
	os.FileInfo
	plugin *Plugin
}

// NewWatched returns a folder that nobody has looked into yet.
func NewWatched(folder string) *Watched {
	return &Watched{Folder: Folder(folder), seen: map[string]seenFile{}}
}

// Modules returns the folder's modules.
func (w *Watched) Modules() ([]*Plugin, []error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := map[string]seenFile{}
	all, errs := w.modules(func(path string) (*Plugin, error) {
		is, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if was, ok := w.seen[path]; ok && was.isSame(is) {
			now[path] = was
			return was.plugin, nil
		}
		p, err := File(path)
		if err == nil && time.Since(changedAt(is)) > young {
			now[path] = seenFile{is, p}
		}
		return p, err
	})
	w.seen = now
	return all, errs
}

// young is how old a change must be for the next one to have another time: file systems count in steps, at worst of two
// seconds.
const young = 2 * time.Second

// isSame reports whether a file holds what it held: it is the same one, and neither its content nor anything else of it
// has changed since.
func (f seenFile) isSame(is os.FileInfo) bool {
	return os.SameFile(f.FileInfo, is) && f.Size() == is.Size() && f.ModTime().Equal(is.ModTime()) &&
		changedAt(f.FileInfo).Equal(changedAt(is))
}
