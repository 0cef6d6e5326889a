package author_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"

	"github.com/windlass-dev/windlass/cmd/windlass/answer/answertest"
	"github.com/windlass-dev/windlass/host/plugins/oci/registrytest"
	builtin "github.com/windlass-dev/windlass/plugins"
)

// makeKeys makes a private key as cosign does, with a password, and its public half.
func makeKeys(t *testing.T, password string) (private, public string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}

	sealed, err := encrypted.Encrypt(der, []byte(password))
	if err != nil {
		t.Fatal(err)
	}

	pub, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	private, public = filepath.Join(dir, "cosign.key"), filepath.Join(dir, "cosign.pub")
	for path, block := range map[string]*pem.Block{private: {Type: "ENCRYPTED SIGSTORE PRIVATE KEY", Bytes: sealed},
		public: {Type: "PUBLIC KEY", Bytes: pub}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return private, public
}

// An author pushes and signs, an operator verifies, looks and pulls: each command prints the reference that the
// configuration takes.
func TestRegistryCommands(t *testing.T) {
	r := registrytest.Start(t, registrytest.Options{TLS: true, User: "u", Password: "p"})
	private, public := makeKeys(t, "pass word")
	_, other := makeKeys(t, "")
	docker := t.TempDir() // where docker login leaves a password
	b, err := os.ReadFile(r.Credentials("u", "p"))
	if err == nil {
		err = os.WriteFile(filepath.Join(docker, "config.json"), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	call := func(environment []string, args ...string) (string, string, error) {
		cmd, stdout, stderr := answertest.Command(t, append(args, "--ca-file", r.CAFile)...)
		cmd.Dir = dir
		cmd.Env = append(append(cmd.Env, "DOCKER_CONFIG="+docker), environment...)
		err := cmd.Run()
		return strings.TrimSpace(stdout.String()), stderr.String(), err
	}

	does := func(args ...string) string {
		t.Helper()
		out, text, err := call([]string{"COSIGN_PASSWORD=pass word"}, args...)
		if err != nil {
			t.Fatalf("%v: %v: %s", args, err, text)
		}
		return out
	}

	fails := func(want string, environment []string, args ...string) {
		t.Helper()
		out, text, err := call(environment, args...)
		if err == nil || out != "" || !strings.HasPrefix(text, "windlass: ") || !strings.Contains(text, want) ||
			strings.Count(text, "\n") != 1 {
			t.Errorf("%v: %v\ngot  %s%s\nwant %s", args, err, out, text, want)
		}
	}

	image := r.Host + "/plugins/replicaset"
	pinned := does("plugin", "push", "builtin:replicaset", image+":v1")
	if !strings.HasPrefix(pinned, image+"@sha256:") || len(pinned) != len(image)+72 {
		t.Fatalf("got %s", pinned)
	}

	fails("isn't signed, and must be signed by a key of "+public, nil, "plugin", "verify", pinned, "--key", public)
	fails("can't be decrypted", []string{"COSIGN_PASSWORD=wrong"}, "plugin", "sign", pinned, "--key", private)
	if got := does("plugin", "sign", pinned, "--key", private); got != pinned {
		t.Errorf("got %s", got)
	}

	passwordFile := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(passwordFile, []byte("pass word\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	does("plugin", "sign", pinned, "--key", private, "--password-file", passwordFile)
	if got := does("plugin", "verify", pinned, "--key", public); got != pinned {
		t.Errorf("got %s", got)
	}

	fails("is signed, but not by a key of "+other, nil, "plugin", "verify", pinned, "--key", other)
	fails("is signed, but not by a key of "+other, nil, "plugin", "pull", pinned, "--key", other)
	fails("--key: is empty", nil, "plugin", "verify", pinned, "--key", "")
	fails("--key: is empty", nil, "plugin", "pull", pinned, "--key", "")
	fails(`required flag(s) "key" not set`, nil, "plugin", "verify", pinned)
	if got := does("plugin", "pull", pinned, "--key", public); got != pinned {
		t.Errorf("got %s", got)
	}

	wasm, ok := builtin.Module("replicaset")
	got, err := os.ReadFile(filepath.Join(dir, "replicaset.wasm"))
	if err != nil || !ok || !bytes.Equal(got, wasm) {
		t.Errorf("what was pulled isn't what was pushed: %v", err)
	}

	fails("replicaset.wasm is there already: name a file with -o", nil, "plugin", "pull", pinned)
	does("plugin", "pull", pinned, "-o", "replicaset.wasm")
	if out := does("plugin", "inspect", pinned); !strings.Contains(out, "origin: "+pinned) ||
		!strings.Contains(out, "name: replicaset") {
		t.Errorf("got %s", out)
	}

	fails("the tag's digest is now "+pinned[len(image)+1:]+"; if that is what you want, write "+pinned, nil, "plugin",
		"pull",
		image+":v1", "-o", "x.wasm")
	fails("give a tag, or nothing, instead", nil, "plugin", "push", "builtin:replicaset", pinned)
	fails("must be registry/repository@sha256:", nil, "plugin", "push", "builtin:replicaset", "replicaset")
	fails("not a WebAssembly module", nil, "plugin", "push", private, image)
	fails("give credentials for "+r.Host, []string{"DOCKER_CONFIG=" + t.TempDir()}, "plugin", "pull", pinned, "-o",
		"x.wasm")
	fails("must be at least 1s", nil, "plugin", "pull", pinned, "--timeout", "1ms")
}
