// Package keyring holds the keys that the manager signs with: it reads them from the files that are configured, and
// again when those change.
package keyring

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/files"
	"github.com/windlass-dev/windlass/host/signing"
)

// Keyring signs with what the configured files hold. Its zero value has no key.
type Keyring struct {
	changing sync.Mutex // held by who configures or refreshes
	keys     atomic.Pointer[keys]
}

// keys are those of one configuration; their files may change.
type keys struct {
	authorities map[string]*authority // by signer; signers may share one
	tokens      *tokens               // nil: there is none
	longest     time.Duration
	lacking     []string // see [Keyring.Lacking]
}

type authority struct {
	pair config.KeyPair
	*files.Parsed[*signing.Authority]
}

type tokens struct {
	path string
	*files.Parsed[*signing.TokenKey]
}

// Configure has the keyring sign with what a configuration names, as far as controllers are turned on that need it.
// What it has read already isn't opened again. An error names the field and the file; then all stays as it was.
func (k *Keyring) Configure(c *config.Configuration) error {
	k.changing.Lock()
	defer k.changing.Unlock()
	was := k.now()
	next := &keys{authorities: map[string]*authority{}, longest: c.Signing.Duration.Duration}
	var errs []error

	if c.SignsCertificates() {
		pairs := c.Signing.Pairs()
		for _, signer := range slices.Sorted(maps.Keys(pairs)) {
			a, err := openAuthority(pairs[signer], was, next)
			if err != nil {
				errs = append(errs, fmt.Errorf("signing: the authority of %s: %w", signer, err))
			}
			next.authorities[signer] = a
		}
		next.lacking = c.Signing.Keyless()
	}
	switch path := c.Signing.ServiceAccountKeyFile; {
	case !c.SignsTokens():
	case path == "":
		next.lacking = append(next.lacking, Tokens)
	default:
		var err error
		if next.tokens, err = openTokens(path, was); err != nil {
			errs = append(errs, fmt.Errorf("signing.serviceAccountKeyFile: %w", err))
		}
	}

	if err := errors.Join(errs...); err != nil {
		return err
	}
	k.keys.Store(next)
	if len(next.lacking) > 0 && !slices.Equal(next.lacking, was.lacking) {
		klog.InfoS("There is no key to sign these with, and they stay unsigned: name the files in signing, or by the flags --cluster-signing-cert-file, --cluster-signing-key-file and --service-account-private-key-file",
			"lacking", next.lacking)
	}
	return nil
}

// Lacking are the signers, and [Tokens], that there is no key for though a controller is turned on that has them
// signed.
func (k *Keyring) Lacking() []string { return k.now().lacking }

// openAuthority opens a pair of files, unless they are open.
func openAuthority(pair config.KeyPair, open ...*keys) (*authority, error) {
	for _, k := range open {
		for _, a := range k.authorities {
			if a.pair == pair {
				return a, nil
			}
		}
	}
	parsed, err := files.Open(signing.ParseAuthority, pair.CertFile, pair.KeyFile)
	return &authority{pair, parsed}, err
}

func openTokens(path string, open *keys) (*tokens, error) {
	if open.tokens != nil && open.tokens.path == path {
		return open.tokens, nil
	}
	parsed, err := files.Open(func(b [][]byte) (*signing.TokenKey, error) { return signing.ParseTokenKey(b[0]) }, path)
	return &tokens{path, parsed}, err
}

// Refresh reads all files anew. An error, which stays until the files are mended, is why what they say isn't taken.
func (k *Keyring) Refresh() error {
	k.changing.Lock()
	defer k.changing.Unlock()
	now := k.now()
	var errs []error
	done := map[*authority]bool{}
	for _, signer := range slices.Sorted(maps.Keys(now.authorities)) {
		a := now.authorities[signer]
		if done[a] {
			continue
		}
		done[a] = true
		changed, err := a.Refresh()
		if changed {
			klog.InfoS("Certificates are signed by another authority now", "signer", signer, "file", a.pair.CertFile,
				"until", a.Value().Certificate.NotAfter)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("signing: the authority of %s stays the one before: %w", signer, err))
		}
	}

	if now.tokens != nil {
		changed, err := now.tokens.Refresh()
		if changed {
			klog.InfoS("Service accounts' tokens are signed with another key now", "file", now.tokens.path)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("signing.serviceAccountKeyFile: the key stays the one before: %w", err))
		}
	}
	return errors.Join(errs...)
}

func (k *Keyring) now() *keys {
	if now := k.keys.Load(); now != nil {
		return now
	}
	return &keys{}
}

// signer is what signs with the keys as they are now.
func (k *Keyring) signer() *signing.Keys {
	now := k.now()
	return &signing.Keys{
		Of: func(signer string) *signing.Authority {
			if a := now.authorities[signer]; a != nil {
				return a.Value()
			}
			return nil
		},
		Longest: now.longest,
		Tokens: func() *signing.TokenKey {
			if now.tokens == nil {
				return nil
			}
			return now.tokens.Value()
		},
	}
}

// Certificate is [signing.Keys.Certificate].
func (k *Keyring) Certificate(r *certificatesv1.CertificateSigningRequest, now time.Time) ([]byte, error) {
	return k.signer().Certificate(r, now)
}

// Token is [signing.Keys.Token].
func (k *Keyring) Token(account *corev1.ServiceAccount, secret *corev1.Secret) (string, error) {
	return k.signer().Token(account, secret)
}

// Bootstrap is [signing.Bootstrap].
func (k *Keyring) Bootstrap(info *corev1.ConfigMap, token *corev1.Secret, now time.Time) (key, signature string,
	_ error) {
	return signing.Bootstrap(info, token, now)
}

// Key is what is known of a key without saying it.
type Key struct {
	// Signs is the signer whose certificates it signs, or [Tokens].
	Signs string
	// Files are those of the certificate and of the key, or that of the key alone.
	Files []string
	// Until is the end of the authority's certificate; zero for a key of tokens, which has none.
	Until time.Time
	// Rejected is why what the files say now isn't taken; nil: it is in use.
	Rejected error
}

// Tokens are what the key of service accounts signs.
const Tokens = "service account tokens"

// Keys returns what is known of the keys, sorted by what they sign.
func (k *Keyring) Keys() (all []Key) {
	now := k.now()
	for _, signer := range slices.Sorted(maps.Keys(now.authorities)) {
		a := now.authorities[signer]
		all = append(all, Key{signer, []string{a.pair.CertFile, a.pair.KeyFile}, a.Value().Certificate.NotAfter, a.Err()})
	}
	if t := now.tokens; t != nil {
		all = append(all, Key{Tokens, []string{t.path}, time.Time{}, t.Err()})
	}
	return all
}
