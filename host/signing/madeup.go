package signing

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
)

// MadeUp signs with keys that were made up, and that nobody trusts: for simulations, in which what is signed twice
// comes out the same.
type MadeUp struct {
	keys *Keys
	mu   sync.Mutex
	done map[string][]byte // by what was signed
}

// NewMadeUp makes up keys for all signers and for tokens.
func NewMadeUp(now time.Time) (*MadeUp, error) {
	keys, err := madeUpKeys(now)
	return &MadeUp{keys: keys, done: map[string][]byte{}}, err
}

// Certificate is [Keys.Certificate].
func (m *MadeUp) Certificate(r *certificatesv1.CertificateSigningRequest, now time.Time) ([]byte, error) {
	signed, err := m.keys.Certificate(r, now)
	if err != nil {
		return nil, err
	}
	return m.first(r.Spec.String(), signed), nil
}

// Token is [Keys.Token].
func (m *MadeUp) Token(account *corev1.ServiceAccount, secret *corev1.Secret) (string, error) {
	signed, err := m.keys.Token(account, secret)
	if err != nil {
		return "", err
	}
	return string(m.first(secret.Namespace+"/"+secret.Name+"/"+account.Name, []byte(signed))), nil
}

// Bootstrap is [Bootstrap].
func (m *MadeUp) Bootstrap(info *corev1.ConfigMap, token *corev1.Secret, now time.Time) (key, signature string,
	_ error) {
	return Bootstrap(info, token, now)
}

// first returns what was made for the same before.
func (m *MadeUp) first(what string, signed []byte) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.done[what] == nil {
		m.done[what] = signed
	}
	return m.done[what]
}

func madeUpKeys(now time.Time) (*Keys, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "made up"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make up an authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}

	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	tokens, err := ParseTokenKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	if err != nil {
		return nil, err
	}
	authority := &Authority{Certificate: certificate, Key: key}
	return &Keys{Longest: 365 * 24 * time.Hour, Of: func(string) *Authority { return authority },
		Tokens: func() *TokenKey { return tokens }}, nil
}
