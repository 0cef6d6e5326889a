package plugins

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/sandbox/rewrite"
	"github.com/windlass-dev/windlass/host/scratch"
	builtin "github.com/windlass-dev/windlass/plugins"
)

// OriginBuiltin is the Origin of a module that is built into the host.
const OriginBuiltin = "builtin"

// Plugin is a module that was found. It runs nothing; [Open] does.
type Plugin struct {
	// Name is the plugin's name: in the manifest, once [Find] has read it, until then the name it was found by.
	Name string
	// Origin is OriginBuiltin or the file's path.
	Origin string
	// File is the file's name in the plugin folder, empty for what isn't from there.
	File string
	// Digest is "sha256:" and the sum of the module as delivered, in hex.
	Digest string
	// Size is the module's, in bytes.
	Size int
	// Code is native code of the module from the build; nil for what isn't built in.
	Code fs.FS

	wasm     func() ([]byte, error)        // nil: there is no module
	declared func() (*abi.Manifest, error) // what declares gives, remembered; nil where nothing remembers it
}

// Wasm reads the module. Most modules are needed once and are there for long, so a built-in one is in the executable
// and any other in a file of the process's, not in its memory.
func (p *Plugin) Wasm() ([]byte, error) {
	if p.wasm == nil {
		return nil, errors.New("its module isn't there")
	}
	return p.wasm()
}

// String names the plugin by where it comes from: "builtin:replicaset" or the file's path.
func (p *Plugin) String() string {
	if p.Origin == OriginBuiltin {
		return OriginBuiltin + ":" + p.Name
	}
	return p.Origin
}

// New returns the plugin that a module is, which was found by that name.
func New(name, origin string, wasm []byte) *Plugin {
	kept := scratch.Keep(wasm)
	return newPlugin(name, origin, wasm, kept.Bytes)
}

func newPlugin(name, origin string, wasm []byte, again func() ([]byte, error)) *Plugin {
	sum := sha256.Sum256(wasm)
	p := &Plugin{Name: name, Origin: origin, Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: len(wasm), wasm: again}
	p.declared = sync.OnceValues(func() (*abi.Manifest, error) { return declared(p) })
	return p
}

// Source is where modules come from.
type Source interface {
	// Modules returns the modules, in an order that doesn't change, and what is wrong beside them. One that can't be read
	// is among the modules: [Find] says why.
	Modules() ([]*Plugin, []error)
}

// Builtin is the source of the modules that are built into the host.
type Builtin struct{}

// Modules returns the built-in modules.
func (Builtin) Modules() (all []*Plugin, errs []error) {
	for _, name := range builtin.Names() {
		if p, ok := builtIn(name); ok {
			all = append(all, p)
		}
	}
	return all, nil
}

func builtIn(name string) (*Plugin, bool) {
	p := builtIns()[name]
	return p, p != nil
}

// builtIns are the built-in modules by name: they stay what they are, so that looking again costs nothing.
var builtIns = sync.OnceValue(func() map[string]*Plugin {
	all := map[string]*Plugin{}
	for _, name := range builtin.Names() {
		if wasm, ok := builtin.Module(name); ok {
			all[name] = newPlugin(name, OriginBuiltin, wasm, func() ([]byte, error) { return wasm, nil })
			all[name].Code = builtin.Code(name)
		}
	}
	return all
})

// Folder is the source of the *.wasm files of a folder, hidden ones and debug forms aside. Links are followed: a
// mounted ConfigMap consists of them.
type Folder string

// Modules reads the folder's modules.
func (f Folder) Modules() ([]*Plugin, []error) { return f.modules(File) }

// modules returns the modules that read makes of the folder's files, by their paths.
func (f Folder) modules(read func(path string) (*Plugin, error)) (all []*Plugin, errs []error) {
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return []*Plugin{unreadable(string(f), fmt.Errorf("plugin folder: %w", err))}, nil
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, ".") || filepath.Ext(name) != ".wasm" ||
			strings.HasSuffix(name, debugSuffix) {
			continue
		}
		path := filepath.Join(string(f), e.Name())
		p, err := read(path)
		if err != nil {
			if _, gone := os.Lstat(path); errors.Is(gone, fs.ErrNotExist) {
				continue // it was removed meanwhile
			}
			p = unreadable(path, err)
		}
		if p.File == "" { // it may be known from the last look
			p.File = e.Name()
		}
		all = append(all, p)
	}
	return all, nil
}

// unreadable stands for what can't be read: asked for its manifest, it says why.
func unreadable(path string, err error) *Plugin {
	return &Plugin{Name: path, Origin: path, declared: func() (*abi.Manifest, error) { return nil, err }}
}

// File reads one module.
func File(path string) (*Plugin, error) {
	wasm, err := readAtMost(path, rewrite.MaxModuleBytes)
	if errors.Is(err, errTooLarge) {
		return nil, fmt.Errorf("%s: more than %d MiB: build the module smaller (-opt=z -no-debug, or -ldflags='-s -w')",
			path, rewrite.MaxModuleBytes>>20)
	}
	if err != nil {
		return nil, err
	}
	return New(path, path, wasm), nil
}

// Named returns the module that "builtin:NAME" or a path names.
func Named(name string) (*Plugin, error) {
	short, ok := strings.CutPrefix(name, OriginBuiltin+":")
	if !ok {
		return File(name)
	}
	p, ok := builtIn(short)
	if !ok {
		if len(builtin.Names()) == 0 {
			return nil, fmt.Errorf("no built-in plugin %q: this windlass was built without plugins: run make build", short)
		}
		return nil, fmt.Errorf("no built-in plugin %q: there are %s", short, strings.Join(builtin.Names(), ", "))
	}
	return p, nil
}

var errTooLarge = errors.New("too large")

// readAtMost reads a regular file without trusting the size that it claims.
func readAtMost(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path) // before opening: opening a pipe waits for a writer
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > most {
		return nil, errTooLarge
	}
	return b, nil
}
