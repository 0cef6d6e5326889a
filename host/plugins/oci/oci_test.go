package oci

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/windlass-dev/windlass/host/plugins/oci/registrytest"
	"github.com/windlass-dev/windlass/host/plugins/signature"
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

// keyPair makes a key of openssl's, and its public half.
func keyPair(t testing.TB) (*signature.Signer, []signature.Key, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}

	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{"key": {Type: "PRIVATE KEY", Bytes: private},
		"pub": {Type: "PUBLIC KEY", Bytes: public}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	signer, err := signature.ReadSigner(filepath.Join(dir, "key"), nil)
	if err != nil {
		t.Fatal(err)
	}

	keys, err := signature.ReadKeys(filepath.Join(dir, "pub"))
	if err != nil {
		t.Fatal(err)
	}
	return signer, keys, filepath.Join(dir, "pub")
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

func TestParse(t *testing.T) {
	const d = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for text, want := range map[string]Reference{
		"registry.example/team/a@" + d:    {Repository: "registry.example/team/a", Digest: d},
		"registry.example/team/a:v1@" + d: {Repository: "registry.example/team/a", Digest: d},
		"127.0.0.1:5000/a:v1":             {Repository: "127.0.0.1:5000/a", Tag: "v1"},
		"[::1]:5000/a":                    {Repository: "[::1]:5000/a"},
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "a", "a@" + d, "r.example/A@" + d, "r.example/a@sha256:01",
		"r.example/a@sha512:" + strings.Repeat("0", 128), "https://r.example/a@" + d, "r.example/a@" + strings.ToUpper(d)} {
		if r, err := Parse(text); err == nil {
			t.Errorf("%q was read as %+v", text, r)
		}
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

// A registry, or who sits before it, may send anything: nothing but what the digest names is taken, and that in bounded
// memory and time.
func TestTampering(t *testing.T) {
	r := registrytest.Start(t, registrytest.Options{})
	const hasty = time.Second
	waits := []string{"module slow", "no answer", "busy"} // until the client's time is over
	c, impatient := newClient(t, r), newClient(t, r, func(o *Options) { o.Timeout = hasty })
	pinned := mustPush(t, c, r.Host+"/a", wasm)
	blobPath, manifestPath := "/v2/a/blobs/"+digestOf(wasm), "/v2/a/manifests/"+pinned.Digest
	other := append(bytes.Clone(wasm[:len(wasm)-1]), '!')
	type handler = func(w http.ResponseWriter, q *http.Request, next http.Handler)

	at := func(path string, f handler) handler {
		return func(w http.ResponseWriter, q *http.Request, next http.Handler) {
			if q.URL.Path == path && q.Method == http.MethodGet {
				f(w, q, next)
				return
			}
			next.ServeHTTP(w, q)
		}
	}

	send := func(kind string, b []byte) handler {
		return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Content-Length", strconv.Itoa(len(b)))
			_, _ = w.Write(b)
		}
	}

	endless := func(w http.ResponseWriter, q *http.Request, _ http.Handler) {
		block := make([]byte, 1<<20)
		for q.Context().Err() == nil {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}

	slow := func(w http.ResponseWriter, q *http.Request, _ http.Handler) {
		w.Header().Set("Content-Length", strconv.Itoa(len(wasm)))
		_, _ = w.Write(wasm[:1])
		_ = http.NewResponseController(w).Flush()
		<-q.Context().Done()
	}

	cut := func(w http.ResponseWriter, q *http.Request, _ http.Handler) {
		w.Header().Set("Content-Length", strconv.Itoa(len(wasm)))
		_, _ = w.Write(wasm[:10])
	}

	for name, x := range map[string]struct {
		intercept handler
		want      string
	}{
		"other module": {at(blobPath, send("application/octet-stream", other)),
			"the registry sent 41 bytes with the digest " + digestOf(other) + " instead of " + digestOf(wasm)},
		"other manifest":   {at(manifestPath, send(typeManifest, []byte(`{"layers":[]}`))), "can't pull its manifest"},
		"manifest as HTML": {at(manifestPath, send("text/html", []byte("<html>"))), "can't pull its manifest"},
		"module cut":       {at(blobPath, cut), "unexpected EOF"},
		"module endless":   {at(blobPath, endless), "sends more than the limit of 41 bytes"},
		"manifest endless": {at(manifestPath, func(w http.ResponseWriter, q *http.Request, n http.Handler) {
			w.Header().Set("Content-Type", typeManifest)
			endless(w, q, n)
		}), "can't pull its manifest"},
		"module slow": {at(blobPath, slow), "the registry took too long"},
		"no answer": {func(_ http.ResponseWriter, q *http.Request, _ http.Handler) {
			<-q.Context().Done()
		}, "the registry took too long"},
		"gone": {at(blobPath, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(404)
		}), "push it there, or correct the reference"},
		"down": {func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(503)
		}, "response status code 503"},
		"busy": {func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(429)
		}, ""},
		"redirects for ever": {func(w http.ResponseWriter, q *http.Request, _ http.Handler) {
			http.Redirect(w, q, q.URL.Path+"?key=hush", http.StatusTemporaryRedirect)
		}, "can't pull its manifest"},
		"shouts": {func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(400)
			fmt.Fprintf(w, `{"errors":[{"code":"X","message":"%s"}]}`, strings.Repeat(`\n\u001b[2Jlies`, 500))
		}, "can't pull its manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			r.Intercept(x.intercept)
			defer r.Intercept(nil)
			c, most := c, time.Minute
			if slices.Contains(waits, name) {
				c, most = impatient, hasty
			}
			from := time.Now()
			_, err := c.Fetch(t.Context(), pinned)
			if err == nil {
				t.Fatal("was taken")
			}
			refused(t, err, x.want, "image "+pinned.String())
			if took := time.Since(from); took > most+time.Minute {
				t.Errorf("took %v", took)
			}
			if len(err.Error()) > 1500 || strings.Contains(err.Error(), "hush") {
				t.Errorf("says too much: %v", err)
			}
		})
	}

	if _, err := c.Fetch(t.Context(), pinned); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// A body that breaks off, or an answer that says later, is asked for again, a few times.
func TestRetries(t *testing.T) {
	r := registrytest.Start(t, registrytest.Options{})
	c := newClient(t, r)
	pinned := mustPush(t, c, r.Host+"/a", wasm)
	n := 0
	r.Intercept(func(w http.ResponseWriter, q *http.Request, next http.Handler) {
		switch n++; n {
		case 1:
			w.WriteHeader(502)
		case 3:
			w.Header().Set("Content-Length", strconv.Itoa(len(wasm)))
			_, _ = w.Write(wasm[:3])
		default:
			next.ServeHTTP(w, q)
		}
	})
	if _, err := c.Fetch(t.Context(), pinned); err != nil || n != 4 {
		t.Errorf("after %d requests: %v", n, err)
	}
	n = 0
	r.Intercept(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { n++; w.WriteHeader(502) })
	if _, err := c.Fetch(t.Context(), pinned); err == nil || n != attempts {
		t.Errorf("after %d requests: %v", n, err)
	}
}

// Nothing goes without TLS unless that was configured, wherever the registry sends us; a password goes to its registry
// only.
func TestRedirectsAndPlainHTTP(t *testing.T) {
	leaked := make(chan string, 10)
	storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		leaked <- q.Header.Get("Authorization")
		_, _ = w.Write(wasm)
	}))
	defer storage.Close()
	storageHost := strings.TrimPrefix(storage.URL, "http://")
	r := registrytest.Start(t, registrytest.Options{TLS: true, User: "u", Password: "p"})
	credentials := r.Credentials("u", "p")
	strict := newClient(t, r, func(o *Options) { o.Credentials = credentials })
	pinned := mustPush(t, strict, r.Host+"/a", wasm)

	r.Intercept(func(w http.ResponseWriter, q *http.Request, next http.Handler) {
		if strings.Contains(q.URL.Path, "/blobs/") {
			http.Redirect(w, q, storage.URL+"/blob?signature=hush", http.StatusTemporaryRedirect)
			return
		}
		next.ServeHTTP(w, q)
	})

	_, err := strict.Fetch(t.Context(), pinned)
	refused(t, err, "sends to "+storageHost+" without TLS", "registries.plainHTTP")
	if strings.Contains(fmt.Sprint(err), "hush") {
		t.Errorf("tells a secret: %v", err)
	}
	lax := newClient(t, r, func(o *Options) { o.Credentials, o.PlainHTTP = credentials, []string{storageHost} })
	if _, err := lax.Fetch(t.Context(), pinned); err != nil {
		t.Error(err)
	}
	if got := <-leaked; got != "" {
		t.Errorf("the storage was sent %q", got)
	}
	plain := registrytest.Start(t, registrytest.Options{})
	_, err = newClient(t, plain, func(o *Options) { o.PlainHTTP = nil }).Fetch(t.Context(), pinnedAt(plain.Host))
	refused(t, err, "a registry without TLS has to be listed in registries.plainHTTP (--plain-http)")
	_, err = newClient(t, r, func(o *Options) { o.CAFile = "" }).Fetch(t.Context(), pinned)
	refused(t, err, "name the CA that signed the registry's certificate in registries.caFile")
}

func pinnedAt(host string) Reference {
	return Reference{Repository: host + "/a", Digest: digestOf(nil)}
}

func TestCredentials(t *testing.T) {
	r := registrytest.Start(t, registrytest.Options{User: "u", Password: "correct"})
	pinned := mustPush(t, newClient(t, r, func(o *Options) { o.Credentials = r.Credentials("u", "correct") }), r.Host+"/a",
		wasm)
	ran := filepath.Join(t.TempDir(), "ran")
	dir := t.TempDir()
	helper := filepath.Join(dir, "docker-credential-test")
	if err := os.WriteFile(helper, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}

	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	helping := filepath.Join(dir, "config.json")
	if err := os.WriteFile(helping, []byte(`{"credsStore":"test","credHelpers":{"`+r.Host+`":"test"}}`), 0o600); err !=
		nil {
		t.Fatal(err)
	}

	for name, file := range map[string]string{"none": "", "wrong": r.Credentials("u", "wr0ng"), "helper": helping} {
		_, err := newClient(t, r, func(o *Options) { o.Credentials = file }).Fetch(t.Context(), pinned)
		refused(t, err, "give credentials for "+r.Host+" in a docker config file")
		if strings.Contains(fmt.Sprint(err), "wr0ng") {
			t.Errorf("%s: tells the password: %v", name, err)
		}
	}

	if _, err := os.Stat(ran); err == nil {
		t.Error("a credential helper was run")
	}
	for _, o := range []Options{{Credentials: "/nowhere"}, {CAFile: "/nowhere"}, {CAFile: helping},
		{Credentials: helper}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

func TestSignatures(t *testing.T) {
	r := registrytest.Start(t, registrytest.Options{})
	c := newClient(t, r)
	ours, ourKeys, ourFile := keyPair(t)
	theirs, theirKeys, theirFile := keyPair(t)
	get := func(ref Reference, keys ...signature.Key) error {
		_, _, err := c.Get(t.Context(), Image{ref, keys}, nil)
		return err
	}
	pinned := mustPush(t, c, r.Host+"/team/a", wasm)
	refused(t, get(pinned, ourKeys...),
		"image "+pinned.String()+": isn't signed, and must be signed by a key of "+ourFile+": sign it with windlass plugin "+
			"sign")
	if n := len(r.Requests("GET /v2/team/a/blobs/")); n != 0 {
		t.Errorf("%d blobs of an image that isn't signed were got", n)
	}
	if err := c.Sign(t.Context(), pinned, theirs); err != nil {
		t.Fatal(err)
	}
	refused(t, get(pinned, ourKeys...), "is signed, but not by a key of "+ourFile)
	if err := c.Sign(t.Context(), pinned, ours); err != nil {
		t.Fatal(err)
	}
	for name, keys := range map[string][]signature.Key{"ours": ourKeys, "theirs": theirKeys,
		"either": append(theirKeys, ourKeys...), "nobody's": nil} {
		if err := get(pinned, keys...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for range 2 { // signed again it is left as it is
		if err := c.Sign(t.Context(), pinned, ours); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := c.Signatures(t.Context(), pinned); err != nil || len(all) != 2 {
		t.Errorf("%d signatures, %v", len(all), err)
	}
	_, err := c.Fetch(t.Context(), mustParse(t, r.Host+"/team/a"))
	refused(t, err, "names no digest")

	// A signature moved to where it doesn't belong: another digest, another repository.
	all, err := c.Signatures(t.Context(), pinned)
	if err != nil {
		t.Fatal(err)
	}
	another := mustPush(t, c, r.Host+"/team/a", append(bytes.Clone(wasm), 1))
	elsewhere := mustPush(t, c, r.Host+"/mallory/a", wasm)
	for _, s := range all {
		for _, to := range []Reference{another, elsewhere} {
			if err := c.putSignature(t.Context(), to, s); err != nil {
				t.Fatal(err)
			}
		}
	}
	refused(t, get(another, ourKeys...),
		"the signature by "+ourFile+" isn't for this image: it is for another digest, "+pinned.Digest)
	refused(t, get(elsewhere, theirKeys...),
		"the signature by "+theirFile+" isn't for this image: it is for another repository, \""+r.Host+"/team/a\"")

	// What a key signed may be something else altogether.
	for want, payload := range map[string]string{
		`the signed payload is a "atomic container signature"`: `{"critical":{"identity":{"docker-reference":"` +
			another.Repository + `"},"image":{"docker-manifest-digest":"` + another.Digest +
			`"},"type":"atomic container signature"}}`,
		"the signed payload isn't a claim about an image": "hello",
	} {
		ref := mustPush(t, c, r.Host+"/team/a", []byte(want))
		sig, err := ours.SignBytes([]byte(payload))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.putSignature(t.Context(), ref, Signature{[]byte(payload), sig}); err != nil {
			t.Fatal(err)
		}
		refused(t, get(ref, ourKeys...), want)
	}
	// A tag that holds something else.
	odd := mustPush(t, c, r.Host+"/team/a", []byte("odd"))
	if _, err := c.pushImage(t.Context(), odd, odd.signatureTag(), describe(typeWasmConfig, []byte("{}")),
		[]content{describe(typeWasm, wasm)}, nil); err != nil {
		t.Fatal(err)
	}
	refused(t, get(odd, ourKeys...), "isn't signed")
}

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
