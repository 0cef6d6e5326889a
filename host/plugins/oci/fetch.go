package oci

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/windlass-dev/windlass/host/plugins/signature"
)

// Module is what a reference names.
type Module struct {
	Reference Reference
	// Digest is "sha256:..." of the module itself.
	Digest string
	Wasm   []byte

	manifest []byte
}

// Signature is one signature as it lies in a registry. Nothing of it is trusted before Verify.
type Signature struct {
	Payload   []byte `json:"payload"`
	Signature []byte `json:"signature"`
}

// Fetch gets a module by its digest. A reference without one is refused, by an error that tells the digest.
func (c *Client) Fetch(ctx context.Context, r Reference) (*Module, error) {
	if err := c.Pinned(ctx, r); err != nil {
		return nil, err
	}
	manifest, err := c.manifest(ctx, r)
	if err != nil {
		return nil, err
	}
	return c.fetchModule(ctx, r, manifest)
}

// Pinned refuses a reference without a digest; where the registry answers, the error tells the digest.
func (c *Client) Pinned(ctx context.Context, r Reference) error {
	if r.Digest != "" {
		return nil
	}
	now := "the registry couldn't be asked for the tag's present digest"
	if d, err := c.resolve(ctx, r); err == nil {
		now = fmt.Sprintf("the tag's digest is now %s; if that is what you want, write %s", d, r.withDigest(d))
	} else if cause := (*Error)(nil); errors.As(err, &cause) {
		now += " (" + cause.What + ")"
	}
	return newError(r, "names no digest, and a tag can be moved: %s", now)
}

// resolve asks for a tag's digest.
func (c *Client) resolve(ctx context.Context, r Reference) (string, error) {
	if r.Tag == "" {
		r.Tag = "latest"
	}
	ctx, cancel, repository, err := c.repository(ctx, r)
	if err != nil {
		return "", err
	}
	defer cancel()
	d, err := repository.Resolve(ctx, r.Tag)
	if err != nil {
		return "", requestError(r, "can't read its digest", err)
	}
	return d.Digest.String(), nil
}

// manifest gets the bytes that the digest names.
func (c *Client) manifest(ctx context.Context, r Reference) ([]byte, error) {
	ctx, cancel, repository, err := c.repository(ctx, r)
	if err != nil {
		return nil, err
	}
	defer cancel()
	return readVerified(ctx, r, "can't pull its manifest", manifestMax, r.Digest, func() (io.ReadCloser, error) {
		_, body, err := repository.Manifests().FetchReference(ctx, r.Digest)
		return body, err
	})
}

// fetchModule gets the module that a manifest names.
func (c *Client) fetchModule(ctx context.Context, r Reference, manifest []byte) (*Module, error) {
	layer, err := moduleLayer(r, manifest)
	if err != nil {
		return nil, err
	}
	ctx, cancel, repository, err := c.repository(ctx, r)
	if err != nil {
		return nil, err
	}
	defer cancel()
	wasm, err := fetchBlob(ctx, r, repository, layer, "can't pull the module", moduleMax)
	if err != nil {
		return nil, err
	}
	return &Module{Reference: r, Digest: layer.Digest.String(), Wasm: wasm, manifest: manifest}, nil
}

// moduleLayer finds the module in a manifest whose digest was checked.
func moduleLayer(r Reference, manifest []byte) (*ocispec.Descriptor, error) {
	var m struct {
		ocispec.Manifest
		Manifests []ocispec.Descriptor `json:"manifests"`
	}
	if err := json.Unmarshal(manifest, &m); err != nil {
		return nil, newFinalError(r, "its manifest isn't JSON: name the digest of a module's image")
	}
	if m.MediaType == typeIndex || m.MediaType == typeDockerIndex || len(m.Manifests) > 0 {
		return nil, newFinalError(r, "is an index of several images: name the digest of the one that holds the module")
	}
	if len(m.Layers) != 1 {
		return nil, newFinalError(r, "has %d layers, a plugin's image has one, the module: push it with windlass plugin push",
			len(m.Layers))
	}

	layer := &m.Layers[0]
	switch {
	case layer.MediaType != typeWasm && layer.MediaType != typeWasmBefore:
		return nil, newFinalError(r,
			"its layer is of type %q, must be %s (or %s): push it with windlass plugin push, or oras push REF FILE:%s",
			hideSecrets(layer.MediaType), typeWasm, typeWasmBefore, typeWasm)
	case !sha256Digest.MatchString(string(layer.Digest)):
		return nil, newFinalError(r, "its layer's digest %q is no SHA-256", hideSecrets(string(layer.Digest)))
	case layer.Size < 1 || layer.Size > moduleMax:
		return nil, newFinalError(r,
			"its module has %d bytes, must be at most %d MiB: build the module smaller (-opt=z -no-debug, or -ldflags='-s -w')",
			layer.Size, moduleMax>>20)
	}
	return layer, nil
}

// Signatures gets what lies beside a module as its signatures; none is no error.
func (c *Client) Signatures(ctx context.Context, r Reference) (all []Signature, _ error) {
	ctx, cancel, repository, err := c.repository(ctx, r)
	if err != nil {
		return nil, err
	}
	defer cancel()
	m, err := signatureManifest(ctx, r, repository)
	if err != nil || m == nil {
		return nil, err
	}
	for i := range m.Layers {
		l := &m.Layers[i]
		sig, err := base64.StdEncoding.DecodeString(l.Annotations[signatureAnnotation])
		if l.MediaType != typeClaim || len(sig) == 0 || err != nil || !sha256Digest.MatchString(string(l.Digest)) ||
			l.Size < 1 || l.Size > payloadMax {
			continue // something else, of which nothing is expected
		}
		payload, err := fetchBlob(ctx, r, repository, l, "can't pull a signature", payloadMax)
		if err != nil {
			return nil, err
		}
		if all = append(all, Signature{payload, sig}); len(all) == signaturesMax {
			break
		}
	}
	return all, nil
}

// signatureManifest gets the image that holds a module's signatures, nil for none.
func signatureManifest(ctx context.Context, r Reference, repository *remote.Repository) (*ocispec.Manifest, error) {
	b, err := readVerified(ctx, r, "can't pull its signatures", manifestMax, "", func() (io.ReadCloser, error) {
		_, body, err := repository.Manifests().FetchReference(ctx, r.signatureTag())
		return body, err
	})
	if errors.Is(err, errdef.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := &ocispec.Manifest{}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, newError(r, "the tag %s holds something other than signatures: remove that tag, and sign the image again",
			r.signatureTag())
	}
	return m, nil
}

// Verify reports whether one of the signatures is by one of the keys, over this image in this repository.
func Verify(r Reference, all []Signature, keys []signature.Key) error {
	claim := signature.Claim{Repository: r.Repository, Digest: r.Digest}
	var files, why []string
	for _, k := range keys {
		files = append(files, k.String())
		for _, s := range all {
			err := k.Verify(claim, s.Payload, s.Signature)
			if err == nil {
				return nil
			}
			if !errors.Is(err, signature.ErrOtherKey) {
				why = append(why, hideSecrets(fmt.Sprintf("the signature by %s isn't for this image: %v", k, err)))
			}
		}
	}
	wanted := strings.Join(files, ", ")
	sign := "sign it with windlass plugin sign or cosign sign --key, or leave it out"
	switch {
	case len(all) == 0:
		return newError(r, "isn't signed, and must be signed by a key of %s: %s", wanted, sign)
	case len(why) == 0:
		return newError(r, "is signed, but not by a key of %s: %s", wanted, sign)
	}
	return newError(r, "%s: %s", strings.Join(why, "; "), sign)
}

// fetchBlob gets what a descriptor names.
func fetchBlob(ctx context.Context, r Reference, repository *remote.Repository, d *ocispec.Descriptor, doing string,
	most int64) ([]byte, error) {
	return readVerified(ctx, r, doing, min(most, d.Size), d.Digest.String(), func() (io.ReadCloser, error) {
		return repository.Blobs().Fetch(ctx, ocispec.Descriptor{MediaType: d.MediaType, Digest: digest.Digest(d.Digest),
			Size: d.Size})
	})
}

// readVerified reads at most so many bytes and compares them with their digest, if one is known. A body that breaks off
// is asked for again.
func readVerified(ctx context.Context, r Reference, doing string, most int64, want string,
	open func() (io.ReadCloser, error)) ([]byte, error) {
	for attempt := 1; ; attempt++ {
		body, err := open()
		if err != nil {
			return nil, requestError(r, doing, err)
		}
		b, err := io.ReadAll(io.LimitReader(body, most+1))
		body.Close()
		switch {
		case err != nil && attempt < attempts && ctx.Err() == nil:
			select {
			case <-time.After(time.Duration(attempt) * 200 * time.Millisecond):
			case <-ctx.Done():
			}
			continue
		case err != nil:
			return nil, requestError(r, doing, err)
		case int64(len(b)) > most:
			return nil, newError(r,
				"%s: the registry sends more than the limit of %d bytes: check the registry and any proxy in between",
				doing, most)
		case want != "" && digestOf(b) != want:
			return nil, newError(r,
				"%s: the registry sent %d bytes with the digest %s instead of %s: check the registry and any proxy in between",
				doing, len(b), digestOf(b), want)
		}
		return b, nil
	}
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
