package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const digest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestLoadRegistries(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := loadText(t, head+`
registries: {credentialsFile: `+file+`, caFile: `+file+`, plainHTTP: ["127.0.0.1:5000", "[::1]:5000", localhost], timeout: 5s, cacheFolder: /nowhere/yet, verificationKeys: [`+file+`]}
plugins:
- {name: a, image: registry.example/team/a`+digest+`}
- {name: b, image: "127.0.0.1:5000/b:v1`+digest+`", verificationKeys: [`+file+`, `+file+`]}
- {name: c, image: "[::1]:5000/c:v1"}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := Registries{CredentialsFile: file, CAFile: file,
		PlainHTTP: []string{"127.0.0.1:5000", "[::1]:5000", "localhost"}, Timeout: metav1.Duration{Duration: 5 * time.Second},
		CacheFolder: "/nowhere/yet", VerificationKeys: []string{file}}
	if d := cmp.Diff(want, got.Registries); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if a, b := got.Plugin("a"), got.Plugin("b"); len(a.VerificationKeys) != 1 || len(b.VerificationKeys) != 2 {
		t.Errorf("keys of a %v, of b %v", a.VerificationKeys, b.VerificationKeys)
	}
}

func TestLoadRefusesRegistries(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no time": {"registries: {timeout: 0s}",
			`registries.timeout: Invalid value: "0s": must be from 1s to 10m`},
		"too much time": {"registries: {timeout: 11m}", `registries.timeout: Invalid value: "11m0s"`},
		"plain URL": {`registries: {plainHTTP: ["http://a"]}`,
			`registries.plainHTTP[0]: Invalid value: "http://a": must be a registry as images name it`},
		"no credentials": {"registries: {credentialsFile: /nowhere}",
			`registries.credentialsFile: Invalid value: "/nowhere": stat /nowhere: no such file or directory: name a file`},
		"CA a folder": {"registries: {caFile: /etc}", `registries.caFile: Invalid value: "/etc": is not a file`},
		"cache a file": {"registries: {cacheFolder: /etc/hosts}",
			`registries.cacheFolder: Invalid value: "/etc/hosts": is a file: name a folder`},
		"no key": {"registries: {verificationKeys: [/nowhere]}",
			`registries.verificationKeys[0]: Invalid value: "/nowhere"`},
		"image of no host": {"plugins: [{name: a, image: a}]",
			`plugins[0].image: Invalid value: "a": must be registry/repository@sha256:...`},
		"image in upper": {"plugins: [{name: a, image: r.example/A" + digest + "}]", `plugins[0].image: Invalid value`},
		"image's URL": {"plugins: [{name: a, image: 'https://r.example/a" + digest + "'}]",
			`plugins[0].image: Invalid value`},
		"short digest": {"plugins: [{name: a, image: 'r.example/a@sha256:0123'}]",
			`the digest "sha256:0123" must be sha256: and 64 digits in lower case`},
		"keys without image": {"plugins: [{name: a, verificationKeys: [/etc/hosts]}]",
			`plugins[0].verificationKeys: Invalid value: "/etc/hosts": needs image to be set`},
		"shadow's digest": {"plugins: [{name: a, shadow: 'r.example/a@sha256:0123'}]",
			`plugins[0].shadow: Invalid value: "r.example/a@sha256:0123": must be "builtin:NAME", a file's path, or registry/repository@sha256:...`},
		"no key of a plugin": {"plugins: [{name: a, image: r.example/a" + digest + ", verificationKeys: [/nowhere]}]",
			`plugins[0].verificationKeys[0]: Invalid value: "/nowhere"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loadText(t, head+c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}
