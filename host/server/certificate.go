package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/files"
)

// The certificate that is signed by itself: for how long it holds, as upstream's, and how long before its end another
// one takes its place.
const (
	ownLife  = 365 * 24 * time.Hour
	ownRenew = 30 * 24 * time.Hour
)

// The names of upstream's certificate in --cert-dir (cmd/kube-controller-manager/app/options), so that the one that is
// there is used.
const (
	ownCertFile = "kube-controller-manager.crt"
	ownKeyFile  = "kube-controller-manager.key"
)

// pair is the server's certificate with its key: that of files, or one that is signed by itself.
type pair struct {
	given config.ServingTLS
	host  string
	files *files.Parsed[*tls.Certificate] // nil: signed by itself
	own   *tls.Certificate
}

// openPair returns the certificate that is configured. One that isn't there, or isn't one, is an error that names the
// file.
func openPair(c *config.ServingTLS, host string) (*pair, error) {
	p := &pair{given: *c, host: host}
	var err error
	if c.CertFile != "" {
		if p.files, err = files.Open(parsePair(), c.CertFile, c.KeyFile); err != nil {
			return nil, fmt.Errorf("serving.tls.certFile and keyFile: %w", err)
		}
		return p, nil
	}
	if p.own, err = ownPair(c.CertDir, host); err != nil {
		return nil, err
	}
	return p, nil
}

// parsePair parses a certificate and its key. One that has expired is good enough for a start, with a complaint, as
// health and metrics of a manager that works are better than none; but it takes no other one's place.
func parsePair() func(contents [][]byte) (*tls.Certificate, error) {
	started := false
	return func(contents [][]byte) (*tls.Certificate, error) {
		c, err := tls.X509KeyPair(contents[0], contents[1])
		if err != nil {
			return nil, err
		}
		if now := time.Now(); now.After(c.Leaf.NotAfter) || now.Before(c.Leaf.NotBefore) {
			err := fmt.Errorf("the certificate is valid from %s to %s, which isn't now", c.Leaf.NotBefore.Format(time.RFC3339),
				c.Leaf.NotAfter.Format(time.RFC3339))
			if started {
				return nil, err
			}
			klog.ErrorS(err, "The certificate in serving.tls.certFile isn't valid now, and clients reject it: replace it")
		}
		started = true
		return &c, nil
	}
}

// current is the certificate as it is now.
func (p *pair) current() *tls.Certificate {
	if p.files != nil {
		return p.files.Value()
	}
	return p.own
}

// refresh looks whether there is another one. An error is why that isn't taken.
func (p *pair) refresh() (changed bool, _ error) {
	if p.files != nil {
		changed, err := p.files.Refresh()
		if err != nil {
			err = fmt.Errorf("serving.tls.certFile and keyFile: %w", err)
		}
		return changed, err
	}
	if time.Until(p.own.Leaf.NotAfter) > ownRenew {
		return false, nil
	}
	next, err := ownPair(p.given.CertDir, p.host)
	if err != nil {
		return false, err
	}
	p.own = next
	return true, nil
}

// ownPair returns a certificate that is signed by itself: that in the folder if it still does, else a new one, which is
// put there. Without a folder the key stays in memory.
func ownPair(folder, host string) (*tls.Certificate, error) {
	if folder == "" {
		c, _, _, err := newPair(host)
		return c, err
	}
	certFile, keyFile := filepath.Join(folder, ownCertFile), filepath.Join(folder, ownKeyFile)
	c, err := tls.LoadX509KeyPair(certFile, keyFile)
	switch {
	case err == nil && time.Until(c.Leaf.NotAfter) > ownRenew && c.Leaf.VerifyHostname(host) == nil:
		return &c, nil
	case err == nil || errors.Is(err, fs.ErrNotExist):
	default:
		return nil, fmt.Errorf("serving.tls.certDir: %s: %w: remove both files to have new ones made", certFile, err)
	}
	made, certPEM, keyPEM, err := newPair(host)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("serving.tls.certDir: %w", err)
	}
	if err := errors.Join(replace(keyFile, keyPEM, 0o600), replace(certFile, certPEM, 0o644)); err != nil {
		return nil, fmt.Errorf("serving.tls.certDir: %w", err)
	}
	return made, nil
}

// newPair makes a certificate for loopback and the host. It can't sign others, so who trusts it trusts nobody else.
//
// client-go's cert.GenerateSelfSignedCertKey makes two RSA keys, for a good part of a second.
func newPair(host string) (_ *tls.Certificate, certPEM, keyPEM []byte, _ error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}

	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, nil, err
	}

	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: fmt.Sprintf("windlass@%d", now.Unix())},
		NotBefore:    now.Add(-time.Hour), NotAfter: now.Add(ownLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if ip := net.ParseIP(host); ip != nil && !ip.IsUnspecified() && !slices.ContainsFunc(template.IPAddresses, ip.Equal) {
		template.IPAddresses = append(template.IPAddresses, ip)
	}

	if name, err := os.Hostname(); err == nil && name != "localhost" {
		template.DNSNames = append(template.DNSNames, name)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, nil, err
	}

	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, nil, err
	}

	certPEM, keyPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})
	c, err := tls.X509KeyPair(certPEM, keyPEM)
	return &c, certPEM, keyPEM, err
}

// replace writes a file in one step.
func replace(path string, content []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
