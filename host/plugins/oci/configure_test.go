package oci

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/config/configtest"
	"github.com/windlass-dev/windlass/host/plugins"
)

// A change of any field of registries, or of what an entry says of its image, has the image looked for anew, or is
// refused by its name.
func TestEveryFieldIsFollowed(t *testing.T) {
	var all []string
	for _, name := range configtest.Fields(reflect.TypeFor[config.Registries]()) {
		all = append(all, "registries."+name)
	}
	for _, path := range append(all, "plugins[].image", "plugins[].verificationKeys") {
		newConfiguration := func() *config.Configuration {
			k := config.Default()
			k.Registries.CacheFolder = t.TempDir()
			k.Plugins = []config.Plugin{{Name: "p", Image: "127.0.0.1:1/p@sha256:" + strings.Repeat("0", 64)}}
			return k
		}
		s := NewSource(t.Context(), func(context.Context, *plugins.Plugin) (string, error) { return "p", nil })
		k := newConfiguration()
		configure(t, s, k)
		before := s.images[0]

		next := newConfiguration()
		next.Registries.CacheFolder = k.Registries.CacheFolder
		configtest.Change(next, path)
		switch err := s.Configure(next); {
		case err == nil && s.images[0] == before:
			t.Errorf("%s isn't followed", path)
		case err != nil && !strings.Contains(err.Error(), path[strings.LastIndex(path, ".")+1:]):
			t.Errorf("%s: %v", path, err)
		}
		s.images[0].stop()
	}
}
