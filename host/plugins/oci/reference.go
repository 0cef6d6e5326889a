package oci

import (
	"fmt"
	"regexp"
	"strings"

	"oras.land/oras-go/v2/registry"
)

// Reference names an image in a registry.
type Reference struct {
	// Repository is registry/path.
	Repository string
	// Tag is empty where there is a digest.
	Tag string
	// Digest is "sha256:..." of the manifest, or empty.
	Digest string
}

var sha256Digest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// Parse reads registry/repository with @sha256:..., :tag or neither. A tag before a digest is for people, and left out.
func Parse(text string) (Reference, error) {
	parsed, err := registry.ParseReference(text)
	if err != nil {
		return Reference{}, fmt.Errorf(
			"%q: must be registry/repository@sha256:..., such as registry.example/plugins/replicaset@sha256:...: %w", text, err)
	}
	r := Reference{Repository: parsed.Registry + "/" + parsed.Repository}
	switch {
	case sha256Digest.MatchString(parsed.Reference):
		r.Digest = parsed.Reference
	case strings.Contains(parsed.Reference, ":"):
		return Reference{}, fmt.Errorf("%q: the digest must be a SHA-256: @sha256: with 64 digits", text)
	default:
		r.Tag = parsed.Reference
	}
	return r, nil
}

// String is the reference as it is written.
func (r Reference) String() string {
	switch {
	case r.Digest != "":
		return r.Repository + "@" + r.Digest
	case r.Tag != "":
		return r.Repository + ":" + r.Tag
	}
	return r.Repository
}

// registryHost returns the registry's host:port.
func (r Reference) registryHost() string {
	host, _, _ := strings.Cut(r.Repository, "/")
	return host
}

// withDigest returns another digest in the same repository.
func (r Reference) withDigest(digest string) Reference {
	return Reference{Repository: r.Repository, Digest: digest}
}

// signatureTag is the tag under which the signatures of a digest lie.
func (r Reference) signatureTag() string { return strings.Replace(r.Digest, ":", "-", 1) + ".sig" }
