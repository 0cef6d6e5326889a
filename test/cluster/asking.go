package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

var loopbacks = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}

// ServingCertificate is what a manager on this cluster may serve with: the API server's certificate, which is for
// loopback, and its key.
func (c *Cluster) ServingCertificate() (cert, key string) {
	return filepath.Join(c.Dir, "apiserver.crt"), filepath.Join(c.Dir, "apiserver.key")
}

// ServingFields are the fields of a configuration file, as YAML, of a manager that [Cluster.HTTP] asks at an address.
func (c *Cluster) ServingFields(address string) string {
	host, port, _ := net.SplitHostPort(address)
	cert, key := c.ServingCertificate()
	return fmt.Sprintf("serving: {bindAddress: %q, port: %s, tls: {certFile: %q, keyFile: %q}, authentication: "+
		"{clientCAFile: %q}}\n", host, port, cert, key, c.CAFile)
}

// ClientCertificate makes a client certificate of the cluster's CA, for a user in groups.
func (c *Cluster) ClientCertificate(user string, groups ...string) (tls.Certificate, error) {
	ca, err := tls.LoadX509KeyPair(c.CAFile, c.CAKeyFile)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("cluster: %w", err)
	}
	return Sign(ca, pkix.Name{CommonName: user, Organization: groups})
}

// Sign makes a certificate for clients, and for servers on loopback, that a CA has signed; with a CA that has no
// certificate, a CA that has signed itself.
func Sign(ca tls.Certificate, subject pkix.Name) (tls.Certificate, error) {
	return SignFor(ca, subject, 24*time.Hour)
}

// SignFor is [Sign] of a certificate that expires after a time, which may be over.
func SignFor(ca tls.Certificate, subject pkix.Name, life time.Duration) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}

	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return tls.Certificate{}, err
	}

	t := &x509.Certificate{
		SerialNumber: serial, Subject: subject,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(life),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost"}, IPAddresses: loopbacks,
	}

	parent, signer := ca.Leaf, ca.PrivateKey
	if parent == nil {
		t.IsCA, t.BasicConstraintsValid, t.KeyUsage, t.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
		parent, signer = t, key
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, key.Public(), signer)
	if err != nil {
		return tls.Certificate{}, err
	}

	leaf, err := x509.ParseCertificate(der)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
}

// PEM returns a certificate and its key.
func PEM(c tls.Certificate) (cert, key []byte, _ error) {
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// HTTP asks managers on this cluster that serve with [Cluster.ServingCertificate], as an administrator whom they know
// without asking the API server.
func (c *Cluster) HTTP() (*http.Client, error) {
	admin, err := c.ClientCertificate("admin", "system:masters")
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	t := &tls.Config{RootCAs: x509.NewCertPool(), Certificates: []tls.Certificate{admin}}
	t.RootCAs.AppendCertsFromPEM(ca)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: t, ForceAttemptHTTP2: true}}, nil
}
