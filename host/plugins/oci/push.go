package oci

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/windlass-dev/windlass/host/plugins/signature"
)

// epoch stands for when an image was made, so that the same module has the same digest whenever it is pushed.
const epoch = "1970-01-01T00:00:00Z"

// wasmConfig is the config of a module's image in the CNCF's layout. A module of no operating system calls itself
// wasip1 there.
type wasmConfig struct {
	Created      string   `json:"created"`
	Architecture string   `json:"architecture"`
	OS           string   `json:"os"`
	LayerDigests []string `json:"layerDigests"`
}

// Push stores a module, under the reference's tag if it has one, and returns the reference with its digest. The same
// module with the same annotations has the same digest.
func (c *Client) Push(ctx context.Context, r Reference, wasm []byte, annotations map[string]string) (Reference, error) {
	if len(wasm) > moduleMax {
		return Reference{}, newError(r, "the module has %d bytes, must be at most %d MiB: build it smaller (-opt=z "+
			"-no-debug, or -ldflags='-s -w')", len(wasm), moduleMax>>20)
	}
	config, err := json.Marshal(wasmConfig{epoch, "wasm", "wasip1", []string{digestOf(wasm)}})
	if err != nil {
		return Reference{}, err
	}
	return c.pushImage(ctx, r, r.Tag, describe(typeWasmConfig, config), []content{describe(typeWasm, wasm)}, annotations)
}

// Sign puts a signature of a module beside it, next to those that are there, and gives the reference of the module. One
// that the key has signed already is left as it is.
func (c *Client) Sign(ctx context.Context, r Reference, signer *signature.Signer) error {
	if _, err := c.Fetch(ctx, r); err != nil { // nobody signs what isn't a module
		return err
	}
	all, err := c.Signatures(ctx, r)
	if err != nil {
		return err
	}
	if len(all) > 0 && Verify(r, all, []signature.Key{signer.Key()}) == nil {
		return nil
	}
	if len(all) >= signaturesMax {
		return newError(r, "has %d signatures already: remove the tag %s, and sign it again", len(all), r.signatureTag())
	}
	claim := signature.Claim{Repository: r.Repository, Digest: r.Digest}
	var s Signature
	if s.Payload, s.Signature, err = signer.Sign(claim); err != nil {
		return err
	}
	return c.putSignature(ctx, r, s)
}

// putSignature adds a signature to the image under the signatures' tag.
func (c *Client) putSignature(ctx context.Context, r Reference, s Signature) error {
	bounded, cancel, repository, err := c.repository(ctx, r)
	if err != nil {
		return err
	}
	defer cancel()
	there, err := signatureManifest(bounded, r, repository)
	if err != nil {
		return err
	}
	var layers []content
	if there != nil {
		for _, d := range there.Layers {
			layers = append(layers, content{Descriptor: d})
		}
	}
	added := describe(typeClaim, s.Payload)
	added.Annotations = map[string]string{signatureAnnotation: base64.StdEncoding.EncodeToString(s.Signature)}
	layers = append(layers, added)
	config, err := signatureConfig(layers)
	if err != nil {
		return err
	}
	_, err = c.pushImage(ctx, r, r.signatureTag(), describe(typeImageConfig, config), layers, nil)
	return err
}

// signatureConfig is the config of an image whose layers are claims; cosign reads it as that of any image.
func signatureConfig(layers []content) ([]byte, error) {
	image := ocispec.Image{RootFS: ocispec.RootFS{Type: "layers"}}
	for _, l := range layers {
		image.RootFS.DiffIDs = append(image.RootFS.DiffIDs, l.Digest)
		image.History = append(image.History, ocispec.History{})
	}
	return json.Marshal(image)
}

// content is a blob with its descriptor; without bytes it is there already.
type content struct {
	ocispec.Descriptor
	bytes []byte
}

func describe(mediaType string, b []byte) content {
	return content{ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(b), Size: int64(len(b))}, b}
}

// pushImage stores an image, and last its manifest, so that whoever finds that finds all.
func (c *Client) pushImage(ctx context.Context, r Reference, tag string, config content, layers []content,
	annotations map[string]string) (Reference, error) {
	ctx, cancel, repository, err := c.repository(ctx, r)
	if err != nil {
		return Reference{}, err
	}

	defer cancel()
	m := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: typeManifest, Config: config.Descriptor,
		Annotations: annotations}
	for _, l := range layers {
		m.Layers = append(m.Layers, l.Descriptor)
	}

	for _, b := range append(layers, config) {
		if err := pushBlob(ctx, repository, b); err != nil {
			return Reference{}, requestError(r, "can't push it", err)
		}
	}

	text, err := json.Marshal(m)
	if err != nil {
		return Reference{}, err
	}

	d := describe(typeManifest, text)
	if tag == "" {
		err = repository.Manifests().Push(ctx, d.Descriptor, bytes.NewReader(text))
	} else {
		err = repository.Manifests().PushReference(ctx, d.Descriptor, bytes.NewReader(text), tag)
	}

	if err != nil {
		return Reference{}, requestError(r, "can't push it", err)
	}
	return r.withDigest(string(d.Digest)), nil
}

func pushBlob(ctx context.Context, repository *remote.Repository, b content) error {
	if b.bytes == nil {
		return nil
	}
	if there, err := repository.Blobs().Exists(ctx, b.Descriptor); err == nil && there {
		return nil
	}
	return repository.Blobs().Push(ctx, b.Descriptor, bytes.NewReader(b.bytes))
}
