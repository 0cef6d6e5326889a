package plugins

import (
	"context"
	"fmt"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/sandbox/rewrite"
)

// Inspection is what can be told of a module without giving it settings.
type Inspection struct {
	Origin string `json:"origin"`
	Digest string `json:"digest"`
	Size   int    `json:"size"` // bytes
	Memory Memory `json:"memory"`
	// Sections are what the size is made of.
	Sections []rewrite.Section `json:"sections"`
	// ManifestFrom is "section" or "module": without a section the module has to run for it.
	ManifestFrom string `json:"manifestFrom"`
	// Imports and Exports are as in the module, with the types of functions: "windlass.perform(i32,i32)->i32".
	Imports  []string      `json:"imports"`
	Exports  []string      `json:"exports"`
	Manifest *abi.Manifest `json:"manifest"`
}

// Memory is the linear memory that a module declares, in bytes. Max is 4 GiB where it declares none.
type Memory struct {
	Min int64 `json:"min"`
	Max int64 `json:"max"`
}

// Inspect reads a module and runs it for its manifest, in the sandbox.
func Inspect(ctx context.Context, p *Plugin) (*Inspection, error) {
	wasm, err := p.Wasm()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	parsed, err := rewrite.Parse(wasm)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}

	m, err := manifestOf(ctx, p)
	if err != nil {
		return nil, err
	}

	const page = 64 << 10
	i := &Inspection{
		Origin: p.String(), Digest: p.Digest, Size: p.Size, Manifest: m, ManifestFrom: "module", Imports: []string{},
		Memory: Memory{Min: int64(parsed.MemoryMin) * page, Max: int64(parsed.MemoryMax) * page},
	}
	if parsed.Manifest != nil {
		i.ManifestFrom = "section"
	}
	if i.Sections, err = rewrite.Sections(wasm); err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}

	for _, im := range parsed.Imports {
		i.Imports = append(i.Imports, im.Module+"."+im.Name+im.Type.String())
	}
	for _, e := range parsed.Exports {
		text := e.Name
		if e.Kind == rewrite.Function {
			text += e.Type.String()
		}
		i.Exports = append(i.Exports, text)
	}

	return i, nil
}
