package oci

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/host/plugins/oci/registrytest"
	"github.com/windlass-dev/windlass/host/plugins/signature"
)

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
