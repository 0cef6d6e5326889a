package sandbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/tetratelabs/wazero"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/host/sandbox/rewrite"
)

// code is a module's native code from elsewhere: from the build, or from the child that compiled it. wazero takes such
// code from a folder only, so it passes through one, which nobody else may enter and which is there while the module is
// loaded, no longer: what lies on a disk for long would have to be trusted.
type code struct {
	wazero.CompilationCache
	folder string
}

const (
	folderPrefix = "windlass-code-"
	folderAge    = time.Hour // far longer than anything takes to load
	inMemory     = "/dev/shm"
)

// memoryFolder is where files are in memory, empty where there is no such place: a disk's file system takes
// milliseconds for each module.
func memoryFolder() string {
	if i, err := os.Stat(inMemory); err != nil || !i.IsDir() || os.Getenv("TMPDIR") != "" {
		return ""
	}
	return inMemory
}

// sweep removes the folders that processes have left which were killed while they loaded a module.
var sweep = sync.OnceFunc(sweepFolders)

func sweepFolders() {
	folders, _ := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*"))
	more, _ := filepath.Glob(filepath.Join(inMemory, folderPrefix+"*"))
	for _, f := range append(folders, more...) {
		if i, err := os.Lstat(f); err == nil && i.IsDir() && time.Since(i.ModTime()) > folderAge {
			_ = os.RemoveAll(f) // somebody else's can't be removed
		}
	}
}

// newCode makes the folder with what is given, nil: nothing yet.
func newCode(given fs.FS) (_ *code, err error) {
	sweep()
	c := &code{}
	where := "" // the child's code may be as large as it likes
	if given != nil {
		where = memoryFolder()
	}
	if c.folder, err = os.MkdirTemp(where, folderPrefix); err != nil && where != "" {
		c.folder, err = os.MkdirTemp("", folderPrefix)
	}
	if err != nil {
		return nil, fmt.Errorf("folder for native code: %w", err)
	}

	defer func() {
		if err != nil {
			c.removeFolder()
		}
	}()

	if given != nil {
		if err := c.copyNative(given); err != nil {
			return nil, noRoom(fmt.Errorf("native code: %w", err))
		}
	}

	if c.CompilationCache, err = wazero.NewCompilationCacheWithDir(c.folder); err != nil {
		return nil, fmt.Errorf("native code: %w", err)
	}
	return c, nil
}

// noRoom says what to do where there is no room for temporary files.
func noRoom(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: make room in the folder for temporary files (TMPDIR)", err)
	}
	return err
}

// tellNoFolder tells of the first time that native code can't be taken from the build.
var tellNoFolder = func() func(error) {
	var once sync.Once
	return func(err error) {
		once.Do(func() {
			klog.ErrorS(err, "The native code of built-in plugins can't be used: they are compiled, which takes a tenth of a "+
				"second each; make room in the folder for temporary files (TMPDIR)")
		})
	}
}()

// copyNative copies the native code from what Compile left: the folders in it, not the rewritten module beside them.
func (c *code) copyNative(given fs.FS) error {
	entries, err := fs.ReadDir(given, ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		folder, err := fs.Sub(given, e.Name())
		if err != nil {
			return err
		}
		if err := os.CopyFS(filepath.Join(c.folder, e.Name()), folder); err != nil {
			return err
		}
	}
	return nil
}

// givenCode is where native code of the module is, nil: nowhere yet.
func (m *Module) givenCode() fs.FS {
	if m.kept != nil {
		return m.kept
	}
	return m.options.Code
}

// entries is how many modules' code there is in the folder.
func (c *code) entries() int {
	files, _ := nativeFiles(c.folder)
	return len(files)
}

// removeFolder removes the folder; that it couldn't would be a few megabytes in the folder for temporary files.
func (c *code) removeFolder() { _ = os.RemoveAll(c.folder) }

// rewrittenName is the file beside the native code that has the module as it is rewritten for so many pages of memory.
func rewrittenName(wasm []byte, pages uint32) string {
	return fmt.Sprintf("rewritten-%d-%x.wasm", pages, sha256.Sum256(wasm))
}

// hollowOf is the file that has the same without its functions' code.
func hollowOf(rewritten string) string { return "hollow-" + rewritten }

// source is what a module is loaded from.
type source struct {
	wasm   []byte // nil: all that is needed is kept
	parsed *rewrite.Module
	file   func() string // of the rewritten module beside the native code: rewrittenName
}

func newSource(wasm []byte, parsed *rewrite.Module, pages uint32) source {
	return source{wasm, parsed, sync.OnceValue(func() string { return rewrittenName(wasm, pages) })}
}

// rewritten returns the module as it will run: from the native code's folder, if that is of this module and this limit.
func rewritten(from source, pages uint32, given fs.FS) ([]byte, error) {
	if given == nil {
		return from.parsed.Rewrite(pages)
	}
	b, err := fs.ReadFile(given, from.file())
	if err == nil || from.wasm == nil {
		return b, err
	}
	parsed, err := rewrite.Parse(from.wasm) // only what the module declares has been parsed
	if err != nil {
		return nil, err
	}
	return parsed.Rewrite(pages)
}

// Compile leaves in a folder what Options.Code takes: a module's native code for this processor, and the rewritten
// module that it is of. limit is the memory limit that the module will be loaded with. The module is checked as Load
// does.
func Compile(ctx context.Context, wasm []byte, limit int64, folder string) error {
	parsed, err := rewrite.Parse(wasm)
	if err != nil {
		return err
	}
	cache, err := wazero.NewCompilationCacheWithDir(folder)
	if err != nil {
		return err
	}
	defer cache.Close(ctx)
	pages := pagesOf(limit, parsed)
	config := runtimeConfig(false, pages).WithCompilationCache(cache)
	made, err := compileChecked(ctx, parsed, pages, config)
	if err != nil {
		return err
	}
	hollow, err := hollowOut(ctx, made, config, folder)
	if err != nil {
		return fmt.Errorf("a module without its code: %w", err)
	}
	name := rewrittenName(wasm, pages)
	if err := os.WriteFile(filepath.Join(folder, hollowOf(name)), hollow, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name), made, 0o600)
}

// hollowOut returns the rewritten module without its functions' code, and makes the native code that there is of the
// module in the folder that of what it returns: wazero finds native code by the module's bytes.
func hollowOut(ctx context.Context, made []byte, config wazero.RuntimeConfig, folder string) ([]byte, error) {
	real, err := nativeFiles(folder)
	if err != nil {
		return nil, err
	}
	hollow, err := rewrite.Hollow(made)
	if err != nil {
		return nil, err
	}
	r := wazero.NewRuntimeWithConfig(ctx, config)
	defer r.Close(ctx)
	if _, err := compile(ctx, r, hollow); err != nil {
		return nil, err
	}

	both, err := nativeFiles(folder)
	if err != nil {
		return nil, err
	}
	added := slices.DeleteFunc(both, func(f string) bool { return slices.Contains(real, f) })
	if len(real) != 1 || len(added) != 1 {
		return nil, fmt.Errorf("native code is in %q, and of the hollow module in %q, where each should be one file",
			real, added)
	}
	return hollow, os.Rename(real[0], added[0])
}

// nativeFiles returns the files of native code in a folder.
func nativeFiles(folder string) ([]string, error) {
	return filepath.Glob(filepath.Join(folder, "*", "*"))
}

func pagesOf(limit int64, m *rewrite.Module) uint32 { return min(uint32(limit/pageSize), m.MemoryMax) }

// compileChecked does all that Load does with a module's code before it runs, and returns the rewritten module.
func compileChecked(ctx context.Context, parsed *rewrite.Module, pages uint32, config wazero.RuntimeConfig) ([]byte,
	error) {
	if err := validate(ctx, parsed.Delivered(), pages); err != nil {
		return nil, err
	}
	made, err := parsed.Rewrite(pages)
	if err != nil {
		return nil, err
	}
	r := wazero.NewRuntimeWithConfig(ctx, config)
	defer r.Close(ctx)
	_, err = compile(ctx, r, made)
	return made, err
}
