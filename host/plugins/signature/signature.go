// Package signature signs modules in registries with a key, and checks such signatures, in cosign's format.
//
// What is signed is a small JSON document, the claim: this digest belongs to this repository. Its bytes and the
// signature lie beside the module in the registry; whatever holds one of the public keys can check them. Neither
// certificates nor transparency logs are asked.
package signature

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// claimType is what a claim says of itself.
const claimType = "cosign container image signature"

// Claim is what a signature vouches for.
type Claim struct {
	// Repository is registry/repository, without a tag or a digest.
	Repository string
	// Digest is that of the manifest, "sha256:...".
	Digest string
}

// document is a claim on the wire, as in the simple signing format of containers.
type document struct {
	Critical critical `json:"critical"`
	Optional any      `json:"optional"`
}

type critical struct {
	Identity identity `json:"identity"`
	Image    image    `json:"image"`
	Type     string   `json:"type"`
}

type identity struct {
	Repository string `json:"docker-reference"`
}

type image struct {
	Digest string `json:"docker-manifest-digest"`
}

// Payload returns the bytes to be signed.
func (c Claim) Payload() []byte {
	b, err := json.Marshal(document{Critical: critical{identity{c.Repository}, image{c.Digest}, claimType}})
	if err != nil {
		panic(err) // strings can always be marshalled
	}
	return b
}

// checkPayload compares a payload whose signature is good with what it has to vouch for.
func (c Claim) checkPayload(payload []byte) error {
	var d document
	decoder := json.NewDecoder(bytes.NewReader(payload))
	if err := decoder.Decode(&d); err != nil || decoder.More() {
		return fmt.Errorf("the signed payload isn't a claim about an image")
	}
	switch {
	case d.Critical.Type != claimType:
		return fmt.Errorf("the signed payload is a %q, not a %q", shorten(d.Critical.Type), claimType)
	case d.Critical.Image.Digest != c.Digest:
		return fmt.Errorf("it is for another digest, %s", shorten(d.Critical.Image.Digest))
	case canonicalRepository(d.Critical.Identity.Repository) != canonicalRepository(c.Repository):
		return fmt.Errorf("it is for another repository, %q", shorten(d.Critical.Identity.Repository))
	}
	return nil
}

// canonicalRepository returns a repository by the one of Docker Hub's names that is used here.
func canonicalRepository(repository string) string {
	for _, host := range []string{"index.docker.io/", "registry-1.docker.io/"} {
		if rest, ok := strings.CutPrefix(repository, host); ok {
			return "docker.io/" + rest
		}
	}
	return repository
}

func shorten(s string) string { return s[:min(len(s), 200)] }
