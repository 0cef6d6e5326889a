package sandbox

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/windlass-dev/windlass/host/sandbox/rewrite"
	"github.com/windlass-dev/windlass/host/scratch"
)

// keptCode is what a module that may rest is loaded from again: the native code that the child has compiled, and the
// rewritten module beside it, compressed, for most of it rests for long.
type keptCode struct {
	fs.FS
	archive *scratch.Kept
}

// keepCode keeps what the child has compiled of a module that may rest, and lets go of what only a first load needs:
// the module's bytes and the decoded functions.
func (m *Module) keepCode(from source, rewritten []byte) error {
	if !m.options.Untrusted || m.options.Rest <= 0 || m.code == nil || !m.precompiled || m.kept != nil {
		return nil
	}
	if err := os.WriteFile(filepath.Join(m.code.folder, from.file()), rewritten, 0o600); err != nil {
		return noRoom(fmt.Errorf("keeping the native code: %w", err))
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if err := errors.Join(w.AddFS(os.DirFS(m.code.folder)), w.Close()); err != nil {
		return noRoom(fmt.Errorf("keeping the native code: %w", err))
	}
	kept, err := keep(b.Bytes())
	if err != nil {
		return err
	}
	m.kept = kept
	m.presence.load = m.loadFrom(source{parsed: &rewrite.Module{Imports: from.parsed.Imports}, file: from.file})
	return nil
}

func keep(archive []byte) (*keptCode, error) {
	k := scratch.Keep(archive)
	r, err := zip.NewReader(k, int64(k.Size()))
	if err != nil {
		k.Release()
		return nil, fmt.Errorf("keeping the native code: %w", err)
	}
	return &keptCode{r, k}, nil
}

// dropCode lets go of what is kept.
func (m *Module) dropCode() {
	if m.kept != nil {
		m.kept.archive.Release()
		m.kept = nil
	}
}
