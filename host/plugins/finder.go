package plugins

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
)

// Finder is [Find] for those who look again and again. It remembers what manifests modules have, so that looking costs
// little, and what it has taken from each file: as long as what a file holds is rejected, that stands in for it, and
// Found.Broken says why. Who runs a module goes on running it while another one is being copied in its place. A file
// that is removed leaves nothing behind. Its zero value is ready for use.
type Finder struct {
	mu    sync.Mutex
	known map[string]*abi.Manifest // by digest
	taken map[string]Found         // by origin; none of the built-in ones
	in    map[string][]Found       // the same by folder, in the order of their origins
}

// Find returns the plugins of all sources, as [Find] does, with those that stand in for files that can't be used.
func (f *Finder) Find(ctx context.Context, k *config.Configuration, sources ...Source) ([]Found, []error) {
	seen := map[string]*abi.Manifest{}
	s := &search{config: k, before: f.takenBefore, read: func(ctx context.Context, p *Plugin) (Found, error) {
		x, err := f.Read(ctx, p)
		if err == nil {
			seen[p.Digest] = x.Manifest
		}
		return x, err
	}}
	all, problems := s.findPlugins(ctx, sources)

	taken, in := map[string]Found{}, map[string][]Found{}
	for _, x := range all {
		seen[x.Digest] = x.Manifest
		if x.Broken, x.Replaces = nil, nil; x.Origin != OriginBuiltin {
			taken[x.Origin] = x
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, origin := range slices.Sorted(maps.Keys(taken)) {
		in[filepath.Dir(origin)] = append(in[filepath.Dir(origin)], taken[origin])
	}
	f.known, f.taken, f.in = seen, taken, in
	return all, problems
}

// takenBefore returns what was taken from a file, or from all files of a folder, at the last look.
func (f *Finder) takenBefore(origin string) (all []Found) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if x, ok := f.taken[origin]; ok {
		return []Found{x}
	}
	return slices.Clone(f.in[filepath.Clean(origin)])
}

// Read returns one module's manifest.
func (f *Finder) Read(ctx context.Context, p *Plugin) (Found, error) {
	f.mu.Lock()
	m, before := f.known[p.Digest], f.taken[p.Origin]
	f.mu.Unlock()
	if before.Plugin != nil && before.Digest == p.Digest {
		return before, nil // the same bytes aren't kept twice
	}
	if m != nil {
		return newFound(p, m), nil
	}
	return readPlugin(ctx, p)
}
