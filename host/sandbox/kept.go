package sandbox

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/windlass-dev/windlass/host/sandbox/rewrite"
)

// keptCode is what a module that may rest is loaded from again: the native code that the child has compiled, and the
// rewritten module beside it, compressed, for most of it rests for long.
type keptCode struct {
	fs.FS
	release func()
}

// keepCode keeps what the child has compiled of a module that may rest, and lets go of what only a first load needs:
// the decoded functions.
func (m *Module) keepCode(wasm, rewritten []byte) error {
	if !m.options.Untrusted || m.options.Rest <= 0 || m.code == nil || !m.precompiled || m.kept != nil {
		return nil
	}
	declared, err := rewrite.Declared(wasm)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(m.code.folder, rewrittenName(wasm, m.limit)), rewritten, 0o600); err != nil {
		return fmt.Errorf("keeping the native code: %w", err)
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if err := errors.Join(w.AddFS(os.DirFS(m.code.folder)), w.Close()); err != nil {
		return fmt.Errorf("keeping the native code: %w", err)
	}
	if m.kept, err = keptFile.keep(b.Bytes()); err != nil {
		return err
	}
	m.presence.load = m.loadFrom(wasm, declared)
	return nil
}

// dropCode lets go of what is kept.
func (m *Module) dropCode() {
	if m.kept != nil {
		m.kept.release()
		m.kept = nil
	}
}

// keptFile is where what this process keeps of modules is: a file without a name, which nobody else can open. So it
// needn't be trusted as what lies in a folder, and takes none of the process's memory. What can't be written there is
// kept in memory.
var keptFile unnamedFile

type unnamedFile struct {
	mu   sync.Mutex
	file *os.File // nil: nothing has been kept
	end  int64
	kept int // regions
}

// keepAlign is the size of the units in which the file's regions begin and are given back, in bytes.
const keepAlign = 4096

// keep keeps an archive.
func (u *unnamedFile) keep(archive []byte) (*keptCode, error) {
	var from io.ReaderAt
	release := func() {}
	if at, size, ok := u.write(archive); ok {
		from = io.NewSectionReader(u.file, at, int64(len(archive)))
		release = sync.OnceFunc(func() { u.give(at, size) })
	} else {
		from = bytes.NewReader(bytes.Clone(archive))
	}
	r, err := zip.NewReader(from, int64(len(archive)))
	if err != nil {
		release()
		return nil, fmt.Errorf("keeping the native code: %w", err)
	}
	return &keptCode{r, release}, nil
}

// write writes a region, and reports whether it is there.
func (u *unnamedFile) write(b []byte) (at, size int64, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.file == nil {
		f, err := os.CreateTemp("", folderPrefix)
		if err != nil {
			return 0, 0, false
		}
		if err := os.Remove(f.Name()); err != nil {
			_ = f.Close()
			return 0, 0, false
		}
		u.file = f
	}

	at, size = u.end, (int64(len(b))+keepAlign-1)/keepAlign*keepAlign
	if _, err := u.file.WriteAt(b, at); err != nil {
		return 0, 0, false // what is there of it is written over
	}
	u.end += size
	u.kept++
	return at, size, true
}

// give gives a region back.
func (u *unnamedFile) give(at, size int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.kept--; u.kept == 0 {
		u.end = 0
		_ = u.file.Truncate(0)
		return
	}
	punch(u.file, at, size)
}
