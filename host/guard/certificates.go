package guard

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/config"
)

// authority is a bundle of CAs.
type authority struct {
	pem  []byte
	pool *x509.CertPool
}

// parseAuthority reads PEM. Anything but certificates in it is an error: who names a key by mistake should know.
func parseAuthority(text []byte) (*authority, error) {
	a := &authority{pem: text, pool: x509.NewCertPool()}
	found := false
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("has a block %q: only certificates in PEM belong there", block.Type)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("has a certificate that can't be read: %w", err)
		}
		a.pool.AddCert(c)
		found = true
	}
	if !found {
		return nil, errors.New("has no certificate in PEM")
	}
	return a, nil
}

func (a *authority) equal(b *authority) bool {
	return a != nil && b != nil && bytes.Equal(a.pem, b.pem)
}

// verifyClient returns the certificate that a request's client has shown in its handshake, if one of the authority's
// CAs has signed it for clients.
func (a *authority) verifyClient(r *http.Request) (*x509.Certificate, error) {
	all := r.TLS.PeerCertificates
	o := x509.VerifyOptions{Roots: a.pool, Intermediates: x509.NewCertPool(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for _, c := range all[1:] {
		o.Intermediates.AddCert(c)
	}
	if _, err := all[0].Verify(o); err != nil {
		return nil, err
	}
	return all[0], nil
}

// userOfCertificate returns the user that a certificate names (k8s.io/apiserver/pkg/authentication/request/x509); nil
// if it names none.
func userOfCertificate(c *x509.Certificate) *User {
	if c.Subject.CommonName == "" {
		return nil
	}
	print := sha256.Sum256(c.Raw)
	return &User{Name: c.Subject.CommonName, Groups: c.Subject.Organization,
		Extra: map[string][]string{"authentication.kubernetes.io/credential-id": {"X509SHA256=" +
			hex.EncodeToString(print[:])}}}
}

// proxies are those who may name users in headers (k8s.io/apiserver/pkg/authentication/request/headerrequest).
type proxies struct {
	authority *authority
	config.RequestHeader
}

// userFromHeaders returns whom the proxy names; nil if the request has no such headers.
func (p *proxies) userFromHeaders(r *http.Request) (*User, error) {
	name := firstHeader(r.Header, p.UsernameHeaders)
	if name == "" {
		return nil, nil
	}

	c, err := p.authority.verifyClient(r)
	if err != nil {
		return nil, fmt.Errorf("headers name a user, but the certificate isn't that of a front proxy: %w", err)
	}
	if len(p.AllowedNames) > 0 && !slices.Contains(p.AllowedNames, c.Subject.CommonName) {
		return nil, fmt.Errorf("headers name a user, but %q isn't among the names of front proxies", c.Subject.CommonName)
	}

	u := &User{Name: name, UID: firstHeader(r.Header, p.UIDHeaders), Extra: map[string][]string{}}
	for _, h := range p.GroupHeaders {
		for _, g := range r.Header.Values(h) {
			if g != "" {
				u.Groups = append(u.Groups, g)
			}
		}
	}

	for _, prefix := range p.ExtraHeaderPrefixes {
		for h, values := range r.Header {
			if len(h) > len(prefix) && strings.EqualFold(h[:len(prefix)], prefix) {
				key := strings.ToLower(h[len(prefix):])
				if plain, err := url.PathUnescape(key); err == nil {
					key = plain
				}
				u.Extra[key] = append(u.Extra[key], values...)
			}
		}
	}

	return u, nil
}

func firstHeader(h http.Header, names []string) string {
	for _, n := range names {
		if v := h.Get(n); v != "" {
			return v
		}
	}
	return ""
}
