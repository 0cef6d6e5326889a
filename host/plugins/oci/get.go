package oci

import (
	"context"

	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/plugins/signature"
)

// Image is a module that somebody wants.
type Image struct {
	Reference Reference
	// Keys are public keys, one of which must have signed the module. Empty: it needn't be signed.
	Keys []signature.Key
}

// Get returns an image's module from the cache, or from its registry what the cache lacks of it, which it then keeps.
// The error of the cache, if any, is no reason to do without the module.
func (c *Client) Get(ctx context.Context, i Image, cache *Cache) (_ *Module, unkept error, _ error) {
	if err := c.Pinned(ctx, i.Reference); err != nil {
		return nil, nil, err
	}
	if m := cache.cachedModule(i.Reference, i.Keys); m != nil {
		return m, nil, nil
	}

	var all []Signature
	if len(i.Keys) > 0 { // first: of what isn't signed nothing more is wanted
		var err error
		if all, err = c.Signatures(ctx, i.Reference); err != nil {
			return nil, nil, err
		}
		if err := Verify(i.Reference, all, i.Keys); err != nil {
			return nil, nil, err
		}
	}

	m := cache.cachedModule(i.Reference, nil)
	if m == nil {
		manifest := cache.manifest(i.Reference)
		if manifest == nil {
			var err error
			if manifest, err = c.manifest(ctx, i.Reference); err != nil {
				return nil, nil, err
			}
		}
		var err error
		if m, err = c.fetchModule(ctx, i.Reference, manifest); err != nil {
			return nil, nil, err
		}
	}

	return m, cache.keepModule(m, all), nil
}

// Plugin returns the module as one that was found.
func (m *Module) Plugin(name string) *plugins.Plugin {
	return plugins.New(name, m.Reference.String(), m.Wasm)
}
