package signature

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"
)

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func writeKeyFile(t testing.TB, kind string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func publicKeyFile(t testing.TB, key crypto.Signer) string {
	t.Helper()
	return writeKeyFile(t, "PUBLIC KEY", must[[]byte](t)(x509.MarshalPKIXPublicKey(key.Public())))
}

func pkcs8(t testing.TB, key any) []byte {
	t.Helper()
	return must[[]byte](t)(x509.MarshalPKCS8PrivateKey(key))
}

func password(p string) func() ([]byte, error) {
	return func() ([]byte, error) { return []byte(p), nil }
}

var claim = Claim{Repository: "registry.example/team/a",
	Digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}

// What a key in any of its forms signs, its public half verifies; another one doesn't.
func TestSignAndVerify(t *testing.T) {
	p256 := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	other := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	others := must[[]Key](t)(ReadKeys(publicKeyFile(t, other)))
	sealed := must[[]byte](t)(encrypted.Encrypt(pkcs8(t, p256), []byte("pass")))
	for name, c := range map[string]struct {
		private string
		key     crypto.Signer
	}{
		"PKCS #8":  {writeKeyFile(t, "PRIVATE KEY", pkcs8(t, p256)), p256},
		"SEC 1":    {writeKeyFile(t, "EC PRIVATE KEY", must[[]byte](t)(x509.MarshalECPrivateKey(p256))), p256},
		"cosign":   {writeKeyFile(t, "ENCRYPTED SIGSTORE PRIVATE KEY", sealed), p256},
		"cosign 1": {writeKeyFile(t, "ENCRYPTED COSIGN PRIVATE KEY", sealed), p256},
		"Ed25519":  {writeKeyFile(t, "PRIVATE KEY", pkcs8(t, ed)), ed},
	} {
		t.Run(name, func(t *testing.T) {
			signer := must[*Signer](t)(ReadSigner(c.private, password("pass")))
			payload, sig, err := signer.Sign(claim)
			if err != nil {
				t.Fatal(err)
			}

			for _, key := range append(must[[]Key](t)(ReadKeys(publicKeyFile(t, c.key))), signer.Key()) {
				if err := key.Verify(claim, payload, sig); err != nil {
					t.Error(err)
				}
				if err := key.Verify(Claim{claim.Repository, strings.ReplaceAll(claim.Digest, "0", "1")}, payload, sig); err ==
					nil || !strings.Contains(err.Error(), "it is for another digest, "+claim.Digest) {
					t.Errorf("another digest: %v", err)
				}
				if err := key.Verify(Claim{claim.Repository + "b", claim.Digest}, payload, sig); err == nil ||
					!strings.Contains(err.Error(), `it is for another repository, "registry.example/team/a"`) {
					t.Errorf("another repository: %v", err)
				}
				for i := range sig {
					sig[i] ^= 1
					if err := key.Verify(claim, payload, sig); !errors.Is(err, ErrOtherKey) {
						t.Errorf("byte %d of the signature changed: %v", i, err)
					}
					sig[i] ^= 1
				}
				if err := key.Verify(claim, append(payload, ' '), sig); !errors.Is(err, ErrOtherKey) {
					t.Errorf("the payload changed: %v", err)
				}
			}

			if err := others[0].Verify(claim, payload, sig); !errors.Is(err, ErrOtherKey) {
				t.Errorf("another key: %v", err)
			}
		})
	}
}

// The document is as the format has it, byte by byte.
func TestPayload(t *testing.T) {
	want := `{"critical":{"identity":{"docker-reference":"registry.example/team/a"},"image":{"docker-manifest-digest":"` +
		claim.Digest + `"},"type":"cosign container image signature"},"optional":null}`
	if got := string(claim.Payload()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	hub := Claim{"docker.io/library/a", claim.Digest}
	renamed := strings.Replace(want, "registry.example/team/a", "index.docker.io/library/a", 1)
	if err := hub.checkPayload([]byte(renamed)); err != nil {
		t.Errorf("Docker Hub's other name: %v", err)
	}
}

// What cosign 2.6.5 made: its key, with the password "pass", and its signature of what we would have signed.
func TestCosigns(t *testing.T) {
	const sig = "MEUCIQDQ/wAFZozhJBMRTRXJ9tKz+gtcZbeeAzh/EEJMpYCs0QIgEtJpGWjcLH6g6LEe6YBRU78wGNeCbc35mJS9LojZufE="
	claim := Claim{"127.0.0.1:45261/plugins/daemonset",
		"sha256:9b4d3ec67652a780954878c4fa5b7600827e3c43eafadbf962b7f14ea86c3c3a"}
	key := must[[]Key](t)(ReadKeys("testdata/cosign.pub"))[0]
	if err := key.Verify(claim, claim.Payload(), must[[]byte](t)(base64.StdEncoding.DecodeString(sig))); err != nil {
		t.Error(err)
	}
	signer := must[*Signer](t)(ReadSigner("testdata/cosign.key", password("pass")))
	payload, ours, err := signer.Sign(claim)
	if err != nil {
		t.Fatal(err)
	}
	if err := key.Verify(claim, payload, ours); err != nil {
		t.Error(err)
	}
}

func TestReadKeysRefuses(t *testing.T) {
	p256 := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	p384 := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))
	rsaKey := must[*rsa.PrivateKey](t)(rsa.GenerateKey(rand.Reader, 2048))
	two := publicKeyFile(t, p256)
	b := must[[]byte](t)(os.ReadFile(two))
	if err := os.WriteFile(two, append(b, b...), 0o600); err != nil {
		t.Fatal(err)
	}

	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, make([]byte, keyMax+1), 0o600); err != nil {
		t.Fatal(err)
	}

	sealed := must[[]byte](t)(encrypted.Encrypt(pkcs8(t, p256), []byte("pass")))
	for name, c := range map[string]struct {
		file    string
		private bool
		want    string
	}{
		"missing":         {"/nowhere", false, "/nowhere"},
		"endless":         {"/dev/zero", false, "is not a regular file"},
		"large":           {large, false, "it isn't a key"},
		"private":         {writeKeyFile(t, "PRIVATE KEY", pkcs8(t, p256)), false, "must be a public key in PEM"},
		"garbage":         {writeKeyFile(t, "PUBLIC KEY", []byte("garbage")), false, "must be a public key in PEM"},
		"two":             {two, false, "more than one key"},
		"P-384":           {publicKeyFile(t, p384), false, "a key over P-384: must be ECDSA over P-256 or Ed25519"},
		"RSA":             {publicKeyFile(t, rsaKey), false, "a key of type *rsa.PublicKey: must be ECDSA"},
		"public":          {publicKeyFile(t, p256), true, `holds "PUBLIC KEY": must be a private key in PEM`},
		"private garbage": {writeKeyFile(t, "PRIVATE KEY", []byte("garbage")), true, "must be a private key in PEM"},
		"private RSA":     {writeKeyFile(t, "PRIVATE KEY", pkcs8(t, rsaKey)), true, "must be ECDSA"},
		"wrong password":  {writeKeyFile(t, "ENCRYPTED SIGSTORE PRIVATE KEY", sealed), true, "can't be decrypted"},
		"sealed garbage": {writeKeyFile(t, "ENCRYPTED SIGSTORE PRIVATE KEY",
			[]byte(`{"kdf":{"name":"scrypt","params":{"N":1073741824,"r":8,"p":1}}}`)), true, "can't be decrypted"},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			if c.private {
				_, err = ReadSigner(c.file, password("hush-hush"))
			} else {
				_, err = ReadKeys(c.file)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.file) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "hush") {
				t.Errorf("tells the password: %v", err)
			}
		})
	}
}

// Whatever is signed, a claim is only taken from a document that makes it.
func FuzzOnlyTheClaimPasses(f *testing.F) {
	f.Add(claim.Payload())
	f.Add([]byte(`{"critical":{}}`))
	f.Add(append(claim.Payload(), claim.Payload()...))
	f.Fuzz(func(t *testing.T, payload []byte) {
		if claim.checkPayload(payload) == nil &&
			(!strings.Contains(string(payload), claim.Digest[8:20]) && !strings.Contains(string(payload), `\u`)) {
			t.Errorf("took %q", payload)
		}
	})
}
