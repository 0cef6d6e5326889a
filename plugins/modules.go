// Package plugins holds the built WebAssembly modules of the built-in controllers.
package plugins

import (
	"embed"
	"io/fs"
	"maps"
	"path"
	"slices"
	"unsafe"
)

// embedded are the modules by the names of their plugins. Each is embedded by a file beside this one, which `make
// plugins` writes with the module; without it there are none. An embed.FS would give copies, and every process keep one
// of each module.
var embedded = map[string]string{}

// code holds a folder for each module, with what sandbox.Compile left of it.
//
//go:embed all:code
var code embed.FS

// Names are those of the built-in plugins, which are the names of their folders here, in alphabetical order.
func Names() []string { return slices.Sorted(maps.Keys(embedded)) }

// Module returns the module of the built-in plugin of that name, with its manifest as a section. It is a
// part of the executable: nobody can change it.
func Module(name string) (wasm []byte, ok bool) {
	text, ok := embedded[name]
	return unsafe.Slice(unsafe.StringData(text), len(text)), ok
}

// Code returns the native code of that module for the processor that it was built on: what sandbox.Options takes.
func Code(name string) fs.FS {
	folder, err := fs.Sub(code, path.Join("code", name))
	if err != nil {
		panic(err) // a name of this package's is no path with dots
	}
	return folder
}
