package oci

import (
	"strings"
	"testing"
)

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
