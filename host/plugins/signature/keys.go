package signature

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"
)

// keyMax is the most bytes of a key's file.
const keyMax = 64 << 10

// Key is a public key, ECDSA over P-256 or Ed25519.
type Key struct {
	public crypto.PublicKey
	file   string
}

// ReadKeys reads public keys, PEM files such as cosign.pub.
func ReadKeys(files ...string) (all []Key, _ error) {
	for _, f := range files {
		b, err := readKeyFile(f)
		if err != nil {
			return nil, err
		}
		public, err := publicKey(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		all = append(all, Key{public, f})
	}
	return all, nil
}

func publicKey(b []byte) (crypto.PublicKey, error) {
	const want = "must be a public key in PEM (-----BEGIN PUBLIC KEY-----): openssl pkey -pubout makes it of a private " +
		"key, cosign public-key of cosign's"
	block, rest := pem.Decode(b)
	if block == nil || block.Type != "PUBLIC KEY" {
		return nil, errors.New(want)
	}
	if next, _ := pem.Decode(rest); next != nil {
		return nil, errors.New("the file has more than one key: put each into a file of its own")
	}
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", want, err)
	}
	return public, supported(public)
}

func supported(public crypto.PublicKey) error {
	switch k := public.(type) {
	case *ecdsa.PublicKey:
		if k.Curve == elliptic.P256() {
			return nil
		}
		return fmt.Errorf("a key over %s: must be ECDSA over P-256 or Ed25519", k.Curve.Params().Name)
	case ed25519.PublicKey:
		return nil
	}
	return fmt.Errorf("a key of type %T: must be ECDSA over P-256 or Ed25519", public)
}

// Verify reports whether the signature is the key's, and vouches for the claim. ErrOtherKey is the error for a
// signature that isn't.
func (k Key) Verify(c Claim, payload, signature []byte) error {
	sum := sha256.Sum256(payload)
	good := false
	switch public := k.public.(type) {
	case *ecdsa.PublicKey:
		good = ecdsa.VerifyASN1(public, sum[:], signature)
	case ed25519.PublicKey:
		good = ed25519.Verify(public, payload, signature)
	}
	if !good {
		return ErrOtherKey
	}
	return c.checkPayload(payload)
}

// ErrOtherKey tells that a signature isn't a key's.
var ErrOtherKey = errors.New("the signature wasn't made with this key")

// String names the key's file.
func (k Key) String() string { return k.file }

// Signer is a private key.
type Signer struct{ private crypto.Signer }

// ReadSigner reads a private key: PKCS #8 or SEC 1 in PEM as openssl makes them, or cosign's encrypted one, for which
// password is asked.
func ReadSigner(file string, password func() ([]byte, error)) (*Signer, error) {
	b, err := readKeyFile(file)
	if err != nil {
		return nil, err
	}
	private, err := privateKey(b, password)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &Signer{private}, nil
}

func privateKey(b []byte, password func() ([]byte, error)) (crypto.Signer, error) {
	const want = "must be a private key in PEM: cosign.key of cosign generate-key-pair, or PKCS #8 of openssl genpkey " +
		"-algorithm EC -pkeyopt ec_paramgen_curve:P-256"
	block, _ := pem.Decode(b)
	if block == nil {
		return nil, errors.New(want)
	}

	var parsed any
	var err error
	switch block.Type {
	case "PRIVATE KEY":
		parsed, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		parsed, err = x509.ParseECPrivateKey(block.Bytes)
	case "ENCRYPTED SIGSTORE PRIVATE KEY", "ENCRYPTED COSIGN PRIVATE KEY":
		word, perr := password()
		if perr != nil {
			return nil, perr
		}
		der, derr := encrypted.Decrypt(block.Bytes, word)
		if derr != nil {
			return nil, fmt.Errorf("the key is encrypted and can't be decrypted: %w: give its password in COSIGN_PASSWORD or "+
				"with --password-file", derr)
		}
		parsed, err = x509.ParsePKCS8PrivateKey(der)
	default:
		return nil, fmt.Errorf("holds %q: %s", shorten(block.Type), want)
	}

	if err != nil {
		return nil, fmt.Errorf("%s: %w", want, err)
	}
	private, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, errors.New(want)
	}
	return private, supported(private.Public())
}

// Sign returns the claim's bytes and their signature.
func (s *Signer) Sign(c Claim) (payload, signature []byte, err error) {
	payload = c.Payload()
	signature, err = s.SignBytes(payload)
	return payload, signature, err
}

// SignBytes returns a signature of anything.
func (s *Signer) SignBytes(b []byte) ([]byte, error) {
	message, options := b, crypto.SignerOpts(crypto.Hash(0)) // Ed25519 takes all of it
	if _, ok := s.private.(*ecdsa.PrivateKey); ok {
		sum := sha256.Sum256(b)
		message, options = sum[:], crypto.SHA256
	}
	return s.private.Sign(rand.Reader, message, options)
}

// Key returns the public half of the key.
func (s *Signer) Key() Key { return Key{public: s.private.Public()} }

func readKeyFile(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is not a regular file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, keyMax+1))
	if err == nil && len(b) > keyMax {
		err = fmt.Errorf("%s: more than %d bytes: it isn't a key", file, keyMax)
	}
	return b, err
}
