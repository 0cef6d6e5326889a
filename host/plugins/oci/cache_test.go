package oci

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/host/plugins/oci/registrytest"
	"github.com/windlass-dev/windlass/host/plugins/signature"
)

func TestCache(t *testing.T) {
	r := registrytest.Start(t, registrytest.Options{})
	c := newClient(t, r)
	ours, keys, _ := keyPair(t)
	_, others, _ := keyPair(t)
	pinned := mustPush(t, c, r.Host+"/a", wasm)
	if err := c.Sign(t.Context(), pinned, ours); err != nil {
		t.Fatal(err)
	}

	cache, err := OpenCache(filepath.Join(t.TempDir(), "deep", "modules"))
	if err != nil {
		t.Fatal(err)
	}
	if _, unkept, err := c.Get(t.Context(), Image{pinned, keys}, cache); err != nil || unkept != nil {
		t.Fatal(err, unkept)
	}

	r.Intercept(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(503) })
	for _, k := range [][]signature.Key{keys, nil} {
		m, _, err := c.Get(t.Context(), Image{pinned, k}, cache)
		if err != nil || !bytes.Equal(m.Wasm, wasm) || m.Digest != digestOf(wasm) {
			t.Errorf("without the registry: %v", err)
		}
	}

	if m := cache.cachedModule(pinned, others); m != nil {
		t.Error("the cache's signature holds for any key")
	}
	moved := Reference{Repository: r.Host + "/b", Digest: pinned.Digest}
	if m := cache.cachedModule(moved, keys); m != nil {
		t.Error("the cache's signature holds for any repository")
	}

	// What was changed in the folder isn't taken, and got again.
	for _, d := range []string{pinned.Digest, digestOf(wasm)} {
		if err := os.WriteFile(cache.blobPath(d), []byte("tampered with"), 0o600); err != nil {
			t.Fatal(err)
		}
		if m := cache.cachedModule(pinned, keys); m != nil {
			t.Errorf("took %q", m.Wasm)
		}
		r.Intercept(nil)
		if _, _, err := c.Get(t.Context(), Image{pinned, keys}, cache); err != nil {
			t.Fatal(err)
		}
		if m := cache.cachedModule(pinned, keys); m == nil {
			t.Error("wasn't mended")
		}
	}

	if err := os.WriteFile(cache.signatures(pinned), []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if m := cache.cachedModule(pinned, keys); m != nil {
		t.Error("took a module without a signature")
	}

	// The oldest go when it is full.
	cache.max = 300
	for i := range 5 {
		mustPush(t, c, r.Host+"/a", bytes.Repeat([]byte{byte(i)}, 100))
		if _, _, err := c.Get(t.Context(), Image{mustPush(t, c, r.Host+"/a", bytes.Repeat([]byte{byte(i)}, 100)), nil},
			cache); err != nil {
			t.Fatal(err)
		}
	}

	entries, err := os.ReadDir(cache.folder)
	if err != nil {
		t.Fatal(err)
	}

	var size int64
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s is %s", e.Name(), info.Mode())
		}
	}

	if size > 300 {
		t.Errorf("%d bytes are kept", size)
	}
	if err := os.Chmod(cache.folder, 0o755); err != nil {
		t.Fatal(err)
	}

	_, err = OpenCache(cache.folder)
	refused(t, err, "is accessible to other users (drwxr-xr-x): chmod 700 it")
}
