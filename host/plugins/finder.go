package plugins

import (
	"context"
	"sync"

	"github.com/windlass-dev/windlass/abi"
)

// Finder is [Find] that remembers what manifests modules have, so that looking again costs little. Its zero value is ready for use.
type Finder struct {
	mu    sync.Mutex
	known map[string]*abi.Manifest // by digest
}

// Find gives the plugins of all sources, as [Find] does.
func (f *Finder) Find(ctx context.Context, sources ...Source) ([]Found, []error) {
	seen := map[string]*abi.Manifest{}
	found, problems := find(ctx, func(ctx context.Context, p *Plugin) (*abi.Manifest, error) {
		m, err := f.manifest(ctx, p)
		if err == nil {
			seen[p.Digest] = m
		}
		return m, err
	}, sources)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known = seen
	return found, problems
}

// Read gives one module's manifest.
func (f *Finder) Read(ctx context.Context, p *Plugin) (Found, error) {
	m, err := f.manifest(ctx, p)
	if err != nil {
		return Found{}, err
	}
	return found(p, m), nil
}

func (f *Finder) manifest(ctx context.Context, p *Plugin) (*abi.Manifest, error) {
	f.mu.Lock()
	m := f.known[p.Digest]
	f.mu.Unlock()
	if m != nil {
		return m, nil
	}
	return manifestOf(ctx, p)
}
