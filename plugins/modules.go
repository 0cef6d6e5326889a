// Package plugins holds the built WebAssembly modules of the built-in controllers.
package plugins

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

// modules holds what `make plugins` built before this package was compiled: nothing, if it didn't run.
//
//go:embed all:modules
var modules embed.FS

// code holds a folder for each module, with what sandbox.Compile left of it.
//
//go:embed all:code
var code embed.FS

const extension = ".wasm"

// Names are those of the built-in plugins, which are the names of their folders here, in alphabetical order.
func Names() []string {
	entries, err := modules.ReadDir("modules")
	if err != nil {
		panic(err) // the folder is embedded, README.md keeps it
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), extension); ok {
			names = append(names, name)
		}
	}
	return names
}

// Module returns the module of the built-in plugin of that name, with its manifest as a section. The caller must not
// change it.
func Module(name string) ([]byte, bool) {
	b, err := modules.ReadFile(path.Join("modules", name+extension))
	return b, err == nil
}

// Code returns the native code of that module for the processor that it was built on: what sandbox.Options takes.
func Code(name string) fs.FS {
	folder, err := fs.Sub(code, path.Join("code", name))
	if err != nil {
		panic(err) // a name of this package's is no path with dots
	}
	return folder
}
