// Command module finishes a built module for embedding: it adds the manifest as a section, shortens the functions'
// names, and leaves the native code beside it.
//
//	module BUILT.wasm FINISHED.wasm CODE
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/windlass-dev/windlass/host/plugins/module"
	"github.com/windlass-dev/windlass/host/sandbox"
)

// path begins the names of all functions here that aren't from Go's library.
const path = "github.com/windlass-dev/windlass/"

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: module BUILT.wasm FINISHED.wasm CODE")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintf(os.Stderr, "module: %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

// run writes the module last: where it is, the code is.
func run(ctx context.Context, from, to, folder string) error {
	built, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	m, err := module.Finish(ctx, from, built, path)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := sandbox.Compile(ctx, m.Wasm, sandbox.DefaultMemoryLimit, folder); err != nil {
		return err
	}
	return os.WriteFile(to, m.Wasm, 0o644)
}
