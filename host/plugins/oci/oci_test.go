package oci

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/windlass-dev/windlass/host/plugins/oci/registrytest"
)

var wasm = []byte("\x00asm\x01\x00\x00\x00 not that anybody here would look")

func newClient(t testing.TB, r *registrytest.Registry, change ...func(*Options)) *Client {
	t.Helper()
	o := Options{Timeout: time.Minute, CAFile: r.CAFile}
	if r.CAFile == "" {
		o.PlainHTTP = []string{r.Host}
	}
	for _, f := range change {
		f(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func mustParse(t testing.TB, text string) Reference {
	t.Helper()
	r, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustPush(t testing.TB, c *Client, to string, wasm []byte) Reference {
	t.Helper()
	r, err := c.Push(t.Context(), mustParse(t, to), wasm, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func refused(t testing.TB, err error, want ...string) {
	t.Helper()
	for _, w := range want {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("got  %v\nwant %s", err, w)
		}
	}
	if err != nil && strings.ContainsAny(err.Error(), "\n\r") {
		t.Errorf("more than a line: %q", err)
	}
}

// What is pushed comes back, the same module always has the same digest, and a tag is refused with the digest.
func TestPushAndFetch(t *testing.T) {
	for name, o := range map[string]registrytest.Options{
		"plain": {}, "TLS": {TLS: true},
		"basic": {TLS: true, User: "u", Password: "p"}, "token": {TLS: true, User: "u", Password: "p", Token: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := registrytest.Start(t, o)
			c := newClient(t, r, func(k *Options) {
				if o.User != "" {
					k.Credentials = r.Credentials(o.User, o.Password)
				}
			})
			pinned := mustPush(t, c, r.Host+"/team/a:v1", wasm)
			if again := mustPush(t, c, r.Host+"/team/a:v2", wasm); again != pinned {
				t.Errorf("pushed again it is %s, was %s", again, pinned)
			}
			m, err := c.Fetch(t.Context(), pinned)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(m.Wasm, wasm) || m.Digest != digestOf(wasm) || m.Reference != pinned {
				t.Errorf("%s: %q", m.Reference, m.Wasm)
			}
			_, err = c.Fetch(t.Context(), mustParse(t, r.Host+"/team/a:v1"))
			refused(t, err,
				"image "+r.Host+"/team/a:v1: names no digest, and a tag can be moved: the tag's digest is now "+pinned.Digest+
					"; if that is what you want, write "+pinned.String())
			_, err = c.Fetch(t.Context(), mustParse(t, r.Host+"/team/a:v3"))
			refused(t, err, "names no digest", "the registry couldn't be asked for the tag's present digest (can't read its "+
				"digest: ")
		})
	}
}

// What other tools push is understood as far as it is a module.
func TestOthersImages(t *testing.T) {
	r := registrytest.Start(t, registrytest.Options{})
	c := newClient(t, r)
	image := func(mediaType string, layers ...content) Reference {
		ref, err := c.pushImage(t.Context(), mustParse(t, r.Host+"/a"), "", describe(mediaType, []byte("{}")), layers,
			map[string]string{"org.opencontainers.image.title": "a.wasm"})
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}

	for name, ref := range map[string]Reference{
		"oras": image("application/vnd.oci.empty.v1+json", describe("application/wasm", wasm)),
		"wkg":  image("application/vnd.wasm.config.v0+json", describe("application/wasm", wasm)),
		"wasm-to-oci": image("application/vnd.wasm.config.v1+json",
			describe("application/vnd.wasm.content.layer.v1+wasm", wasm)),
	} {
		if m, err := c.Fetch(t.Context(), ref); err != nil || !bytes.Equal(m.Wasm, wasm) {
			t.Errorf("%s: %v", name, err)
		}
	}

	huge := describe(typeWasm, wasm)
	huge.Size = moduleMax + 1
	odd := describe(typeWasm, wasm)
	odd.Digest = "sha512:" + odd.Digest[7:] + odd.Digest[7:]

	noDigest := map[string]content{"huge": huge, "odd": odd}
	for name, c := range map[string]struct {
		manifest any
		want     string
	}{
		"container": {map[string]any{"layers": []any{describe("application/vnd.oci.image.layer.v1.tar+gzip",
			wasm).Descriptor}}, `its layer is of type "application/vnd.oci.image.layer.v1.tar+gzip", must be application/wasm`},
		"no layers": {map[string]any{"layers": []any{}}, "has 0 layers, a plugin's image has one"},
		"two": {map[string]any{"layers": []any{describe(typeWasm, wasm).Descriptor,
			describe(typeWasm, wasm).Descriptor}}, "has 2 layers"},
		"index":   {map[string]any{"mediaType": typeIndex, "manifests": []any{}}, "is an index of several images"},
		"no JSON": {[]int{}, "its manifest isn't JSON"},
		"too large": {map[string]any{"layers": []any{noDigest["huge"].Descriptor}},
			"its module has 8388609 bytes, must be at most 8 MiB"},
		"SHA-512": {map[string]any{"layers": []any{noDigest["odd"].Descriptor}}, "is no SHA-256"},
	} {
		b, err := json.Marshal(c.manifest)
		if err != nil {
			t.Fatal(err)
		}
		_, err = moduleLayer(mustParse(t, r.Host+"/a"), b)
		refused(t, err, c.want)
		if e, ok := err.(*Error); !ok || !e.Final {
			t.Errorf("%s: would be asked for again", name)
		}
	}
}

// What is pushed is what the specification of Wasm artifacts has.
func TestPushedManifest(t *testing.T) {
	r := registrytest.Start(t, registrytest.Options{})
	pinned, err := newClient(t, r).Push(t.Context(), mustParse(t, r.Host+"/a:v1"), wasm,
		map[string]string{"org.opencontainers.image.title": "a"})
	if err != nil {
		t.Fatal(err)
	}

	get := func(path string) string {
		response, err := http.Get("http://" + r.Host + "/v2/a/" + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		b, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}

	config := `{"created":"1970-01-01T00:00:00Z","architecture":"wasm","os":"wasip1","layerDigests":["` + digestOf(wasm) +
		`"]}`
	want := fmt.Sprintf(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.wasm.config.v0+json","digest":"%s","size":%d},`+
		`"layers":[{"mediaType":"application/wasm","digest":"%s","size":%d}],"annotations":{"org.opencontainers.image.title":"a"}}`, digestOf([]byte(config)), len(config), digestOf(wasm), len(wasm))
	if d := cmp.Diff(want, get("manifests/v1")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(config, get("blobs/"+digestOf([]byte(config)))); d != "" {
		t.Error(d)
	}
	if pinned.Digest != digestOf([]byte(want)) {
		t.Errorf("got %s", pinned)
	}
}
