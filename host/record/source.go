package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"

	"github.com/windlass-dev/windlass/abi"
)

// Source is what syncs ran on: one version of a plugin with its settings. The module itself isn't part of a recording,
// only its digest.
type Source struct {
	Plugin  string `json:"plugin"`
	Version string `json:"version"` // in the manifest
	Digest  string `json:"digest"`  // "sha256:…" of the module
	Origin  string `json:"origin"`  // where the module came from
	// SettingsDigest is that in the calls.
	SettingsDigest string        `json:"settingsDigest"`
	Settings       []Setting     `json:"settings,omitempty"` // in the manifest's order
	Manifest       *abi.Manifest `json:"manifest"`
	// Memory and Fuel are the limits of a sync: bytes, units. 0 is the sandbox's default.
	Memory int64 `json:"memory,omitempty"`
	Fuel   int64 `json:"fuel,omitempty"`
	// Trusted is one of the project's own modules: it keeps nothing of a Secret's data in its state.
	Trusted bool `json:"-"`

	private [][]byte // contents of files that must not be written out
}

// Setting is a setting's value, or of a setting that is a file the digest of what was in it.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// SetSettings takes in the values that the plugin was configured with, in the manifest's order. Of a file it keeps the
// digest, and in memory the content of one that isn't a certificate: wherever else that turns up it is wiped.
func (s *Source) SetSettings(values []string) {
	for i, value := range values {
		if i >= len(s.Manifest.Settings) {
			return
		}
		m := &s.Manifest.Settings[i]
		x := Setting{Name: m.Name}
		if m.File {
			x.Digest = DigestOf([]byte(value))
			if !isCertificates([]byte(value)) {
				s.private = append(s.private, []byte(value))
			}
		} else {
			x.Value = value
		}
		s.Settings = append(s.Settings, x)
	}
}

// DigestOf is how a recording names bytes that it doesn't hold: "sha256:" and the sum in hex.
func DigestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// isCertificates reports whether a file holds certificates and nothing else.
func isCertificates(b []byte) bool {
	found := false
	for {
		block, rest := pem.Decode(b)
		if block == nil {
			return found && len(bytes.TrimSpace(rest)) == 0
		}
		if block.Type != "CERTIFICATE" {
			return false
		}
		found, b = true, rest
	}
}
