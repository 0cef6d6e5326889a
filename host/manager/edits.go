package manager

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/config"
)

// quiet is for how long the configuration's files must hold the same before all that they say is applied: whoever
// writes them may have paused in the middle, and half of a file may say that a plugin has all rights.
const quiet = 2 * time.Second

// edits looks at the configuration's files, which people edit while they are looked at. One goroutine uses it.
type edits struct {
	files []string
	load  func() (*config.Configuration, error)

	seen    [sha256.Size]byte // what the files held at the last look
	since   time.Time         // since when they hold it
	renamed bool              // it was put in their place as a whole
	applied [sha256.Size]byte // what they held when all of it was applied last
}

// newEdits returns what looks at the files. What isn't a regular file, such as a shell's <(command), holds something
// once: then nothing is read again.
func newEdits(files []string, load func() (*config.Configuration, error)) *edits {
	e := &edits{files: files, load: load}
	if err := e.checkRegular(); err != nil {
		klog.InfoS("The configuration is read once: changes of it need a restart", "reason", err.Error())
		return &edits{}
	}
	e.applied = e.sum()
	return e
}

// checkRegular returns an error where a file that is there isn't a regular one: reading it may take for ever.
func (e *edits) checkRegular() error {
	for _, f := range e.files {
		if i, err := os.Stat(f); err == nil && !i.Mode().IsRegular() {
			return fmt.Errorf("configuration %s: is not a regular file", f)
		}
	}
	return nil
}

// isFile reports whether a name is one of the files, or of the link by which a mounted ConfigMap changes all its files.
func (e *edits) isFile(name string) bool {
	return filepath.Base(name) == "..data" || slices.ContainsFunc(e.files,
		func(f string) bool { return filepath.Clean(f) == filepath.Clean(name) })
}

// notice takes note of what has happened to one of the files.
func (e *edits) notice(op fsnotify.Op, now time.Time) {
	switch {
	case op.Has(fsnotify.Write):
		e.renamed, e.since = false, now
	case op.Has(fsnotify.Create): // a file that is made here, and not renamed, is written next
		e.renamed, e.since = true, now
	}
}

// read returns the configuration that is to run now, and after which time it must be read again, 0 for any. current is
// the one that runs.
//
// Of files that were written in place nothing is applied at first but what takes rights from plugins. Of files that
// were renamed into place all is, but for what gives them rights: that waits for a second look at the same bytes. asked
// tells that somebody has asked for the configuration to be read: then it is whole.
func (e *edits) read(current *config.Configuration, now time.Time, asked bool) (_ *config.Configuration,
	again time.Duration, _ error) {
	if err := e.checkRegular(); err != nil {
		return nil, 0, err
	}
	sum := e.sum()
	next, err := e.load()
	if e.sum() != sum {
		return current, settled, nil
	}

	isNew := sum != e.seen
	if isNew {
		e.seen, e.since = sum, now
	}

	wait := quiet - now.Sub(e.since)
	switch {
	case len(e.files) == 0, asked, wait <= 0, sum == e.applied:
		e.renamed = false
		if err == nil {
			e.applied = sum
		}
		return next, 0, err
	case !e.renamed && err != nil: // it may be half of what it will be
		return current, wait, nil
	case !e.renamed:
		return config.Narrowed(current, next), wait, nil
	case err != nil:
		return nil, 0, err
	}

	k, held := config.HeldBack(current, next)
	if len(held) == 0 {
		e.applied, e.renamed = sum, false
		return next, 0, nil
	}
	if isNew {
		klog.InfoS("The configuration allows plugins more than before: that is applied if it still says so in a moment",
			"what", strings.Join(held, ","), "after", wait)
	}
	return k, wait, nil
}

func copyTo(w io.Writer, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// sum returns a sum of what the files hold.
func (e *edits) sum() (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, f := range e.files {
		content := sha256.New()
		if err := copyTo(content, f); err != nil {
			h.Write([]byte(err.Error()))
		}
		h.Write(content.Sum(nil))
	}
	h.Sum(sum[:0])
	return sum
}
