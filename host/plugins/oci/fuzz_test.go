package oci

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Whatever a manifest says, what is asked for because of it is one blob of a module's type, with a SHA-256 and a size
// within the bound; or an error on one line.
func FuzzModuleLayerIsBounded(f *testing.F) {
	good, err := json.Marshal(ocispec.Manifest{Layers: []ocispec.Descriptor{describe(typeWasm, wasm).Descriptor}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"layers":[{"mediaType":"application/wasm","digest":"sha256:../../x","size":-1}]}`))
	f.Add([]byte(`{"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{}]}`))
	f.Fuzz(func(t *testing.T, manifest []byte) {
		l, err := moduleLayer(Reference{Repository: "r.example/a", Digest: digestOf(manifest)}, manifest)
		if err != nil {
			var ours *Error
			if !errors.As(err, &ours) || !ours.Final || strings.ContainsAny(err.Error(), "\n\r\x1b") || len(err.Error()) > 2000 {
				t.Errorf("%q", err)
			}
			return
		}
		if l.Size < 1 || l.Size > moduleMax || !sha256Digest.MatchString(string(l.Digest)) || l.MediaType != typeWasm &&
			l.MediaType != typeWasmBefore {
			t.Errorf("would ask for %+v", l)
		}
	})
}

// What others wrote takes one short line, without the secrets of addresses.
func FuzzVeiledIsOneShortLine(f *testing.F) {
	f.Add("Get \"https://a/b?X-Signature=hush\": EOF")
	f.Add("https://user:hush@host/ \x1b[2J\n\u2028")
	f.Fuzz(func(t *testing.T, text string) {
		got := hideSecrets("https://u:password@a/b?token=secret " + text)
		if strings.ContainsAny(got, "\n\r\x1b\x7f\u2028\u2029") || len(got) > 600 ||
			!strings.HasPrefix(got, "https://a/b?... ") {
			t.Errorf("%q", got)
		}
	})
}

// A reference that is read and written is the same.
func FuzzReferenceSurvives(f *testing.F) {
	f.Add("registry.example/team/a:v1")
	f.Add("[::1]:5000/a@" + digestOf(nil))
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(r.String()); err != nil || again != r {
			t.Errorf("%q is %+v, and again %+v, %v", text, r, again, err)
		}
	})
}
