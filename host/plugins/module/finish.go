// Package module is what lies between a compiler and the sandbox: a built module is finished, and is given the pure
// functions that it imports.
package module

import (
	"context"
	"fmt"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/sandbox/rewrite"
)

// Finished is a module that is ready to be loaded.
type Finished struct {
	Wasm     []byte
	Manifest *abi.Manifest
}

// Finish runs a built module for its manifest, and finishes it. name is for errors; prefix, such as the path of the Go
// module that most functions are from, is taken out of their names.
func Finish(ctx context.Context, name string, built []byte, prefix string) (*Finished, error) {
	m, err := sandbox.Load(ctx, built, sandbox.Options{Name: name, Interpreter: true, Helpers: Helpers})
	if err != nil {
		return nil, err
	}
	defer m.Close(context.WithoutCancel(ctx))
	text, err := m.Manifest(ctx)
	if err != nil {
		return nil, err
	}
	manifest, err := abi.DecodeManifest(text)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: %w", name, err)
	}
	wasm, err := rewrite.WithManifest(built, text)
	if err != nil {
		return nil, err
	}
	if prefix != "" {
		if wasm, err = rewrite.WithShortNames(wasm, prefix); err != nil {
			return nil, err
		}
	}
	return &Finished{wasm, manifest}, nil
}
