// Package oci gets plugins from OCI registries by digest.
//
//	client, err := oci.New(oci.Options{Credentials: "config.json"})
//	ref, err := oci.Parse("registry.example/plugins/replicaset@sha256:...")
//	module, err := client.Fetch(ctx, ref)
//
// # What is in the registry
//
// A module is an image manifest with one layer, which is the module itself, of the media type application/wasm (the
// CNCF's layout of Wasm artifacts) or application/vnd.wasm.content.layer.v1+wasm (its predecessor). The config may be
// any; Push writes application/vnd.wasm.config.v0+json. A signature is what cosign makes with a key: an image under the
// tag sha256-DIGEST.sig in the same repository, see package signature.
//
// # What is trusted
//
// Nothing that a registry says. A reference names the digest of a manifest, that names the layer's, and all bytes are
// compared with theirs when they arrive and each time they are read from the cache. Sizes, times and the number of
// attempts are bounded. A tag is never followed: who could move it could replace the plugin.
package oci

import "github.com/windlass-dev/windlass/host/sandbox/rewrite"

// The bounds of what is read from a registry, in bytes.
const (
	moduleMax   = rewrite.MaxModuleBytes
	manifestMax = 1 << 20
	payloadMax  = 64 << 10
)

// signaturesMax is how many signatures of one module are looked at.
const signaturesMax = 50

// The media types of what is read and written.
const (
	typeManifest       = "application/vnd.oci.image.manifest.v1+json"
	typeDockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	typeIndex          = "application/vnd.oci.image.index.v1+json"
	typeDockerIndex    = "application/vnd.docker.distribution.manifest.list.v2+json"
	typeWasm           = "application/wasm"
	typeWasmBefore     = "application/vnd.wasm.content.layer.v1+wasm"
	typeWasmConfig     = "application/vnd.wasm.config.v0+json"
	typeImageConfig    = "application/vnd.oci.image.config.v1+json"
	typeClaim          = "application/vnd.dev.cosign.simplesigning.v1+json"
)

// signatureAnnotation is where a claim's layer has its signature, in base64.
const signatureAnnotation = "dev.cosignproject.cosign/signature"
