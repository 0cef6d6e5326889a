package record

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
)

// Extension is that of recordings' files.
const Extension = ".windlass-recording"

// SaverOptions say where recordings are saved when syncs fail. All but Folder have defaults.
type SaverOptions struct {
	Folder string
	// Files and Bytes bound what lies in the folder: 50 files, 64 MiB. The oldest ones go.
	Files int
	Bytes int64
	// Every is how long a controller's next recording waits at least: a minute.
	Every time.Duration
	// Kind returns the kinds of custom resources, see [File.NameKinds]. It may take its time; nil: nobody knows.
	Kind func(abi.Resource) string
}

// Saver saves the recordings of controllers whose syncs fail. A nil Saver saves nothing.
type Saver struct {
	SaverOptions
	mu    sync.Mutex // of next
	next  map[*Ring]time.Time
	disk  sync.Mutex
	saved sync.WaitGroup
}

// NewSaver makes a Saver, and its folder.
func NewSaver(o SaverOptions) (*Saver, error) {
	if o.Files <= 0 {
		o.Files = 50
	}
	if o.Bytes <= 0 {
		o.Bytes = 64 << 20
	}
	if o.Every <= 0 {
		o.Every = time.Minute
	}
	if err := os.MkdirAll(o.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("folder of recordings: %w", err)
	}
	return &Saver{SaverOptions: o, next: map[*Ring]time.Time{}}, nil
}

// Watch has the ring saved when its syncs fail.
func (s *Saver) Watch(r *Ring) {
	if s == nil || r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saver = s
}

// Forget ends what Watch began.
func (s *Saver) Forget(r *Ring) {
	if s == nil || r == nil {
		return
	}
	r.mu.Lock()
	r.saver = nil
	r.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.next, r)
}

// Wait waits for what is being written.
func (s *Saver) Wait() {
	if s != nil {
		s.saved.Wait()
	}
}

// saveFailed saves the ring, unless it was just saved, or the failure is an everyday one: somebody else was quicker.
func (s *Saver) saveFailed(r *Ring, result string, err error) {
	if s == nil || result == "error" && apierrors.IsConflict(err) {
		return
	}
	now := time.Now()
	s.mu.Lock()
	wait := now.Before(s.next[r])
	if !wait {
		s.next[r] = now.Add(s.Every)
	}
	s.mu.Unlock()
	if wait {
		return
	}

	f := r.File() // as it is now; the writing takes its time
	f.Reason = result + ": " + bounded(err.Error())
	s.saved.Go(func() {
		if s.Kind != nil {
			f.NameKinds(s.Kind)
		}
		path, err := s.saveFile(f)
		if err != nil {
			klog.ErrorS(err, "Could not save a recording", "controller", f.Controller)
			return
		}
		klog.InfoS("Saved a recording of the last syncs", "controller", f.Controller, "file", path, "syncs", len(f.Syncs))
	})
}

func (s *Saver) saveFile(f *File) (string, error) {
	b, err := f.Append(nil)
	if err != nil {
		return "", err
	}
	if int64(len(b)) > s.Bytes {
		return "", fmt.Errorf("%d bytes, the folder may hold %d: raise recordings.folderBytes", len(b), s.Bytes)
	}
	s.disk.Lock()
	defer s.disk.Unlock()
	if err := s.makeRoom(int64(len(b))); err != nil {
		return "", err
	}
	path := filepath.Join(s.Folder, f.Controller+"-"+f.Saved.UTC().Format("20060102-150405.000000000")+Extension)
	return path, WriteFile(path, b)
}

// WriteFile writes a recording so that nobody finds half of it, readable to its owner alone.
func WriteFile(path string, b []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".recording-*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(b)
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return nil
}

// makeRoom removes the oldest recordings until there is room for one more of the size.
func (s *Saver) makeRoom(size int64) error {
	entries, err := os.ReadDir(s.Folder)
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && strings.HasSuffix(e.Name(), Extension) {
			files = append(files, info)
			size += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	for len(files) > 0 && (len(files) >= s.Files || size > s.Bytes) {
		if err := os.Remove(filepath.Join(s.Folder, files[0].Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		size -= files[0].Size()
		files = files[1:]
	}
	return nil
}
