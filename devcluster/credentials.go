package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
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
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// user is an identity that the API server knows by a token.
type user struct {
	name, group string
	kubeconfig  string // file name in the cluster's folder
}

var (
	userAdmin = user{"admin", "system:masters", "kubeconfig"}
	userKwok  = user{"kwok", "system:masters", "kwok.kubeconfig"}

	users = []user{
		userAdmin,
		userKwok,
		{"system:kube-controller-manager", "", "kube-controller-manager.kubeconfig"},
		{"system:kube-scheduler", "", "kube-scheduler.kubeconfig"},
	}
)

// credentials is what a client needs to reach the cluster.
type credentials struct {
	server string
	ca     []byte // PEM
	tokens map[string]string
}

// loadOrCreate makes the keys, certificates and tokens of the cluster in dir unless an earlier run left them, and
// writes the kubeconfigs.
func loadOrCreate(dir, server string) (*credentials, error) {
	if _, err := os.Stat(filepath.Join(dir, "tokens.csv")); errors.Is(err, fs.ErrNotExist) {
		if err := createCredentials(dir); err != nil {
			return nil, err
		}
	}

	c := &credentials{server: server, tokens: map[string]string{}}
	var err error
	if c.ca, err = os.ReadFile(filepath.Join(dir, "ca.crt")); err != nil {
		return nil, err
	}

	csv, err := os.ReadFile(filepath.Join(dir, "tokens.csv"))
	if err != nil {
		return nil, err
	}

	for line := range strings.Lines(string(csv)) {
		if token, rest, ok := strings.Cut(line, ","); ok {
			name, _, _ := strings.Cut(rest, ",")
			c.tokens[name] = token
		}
	}

	for _, u := range users {
		if err := c.writeKubeconfig(u, filepath.Join(dir, u.kubeconfig)); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *credentials) restConfig(u user) *rest.Config {
	return &rest.Config{
		Host:            c.server,
		BearerToken:     c.tokens[u.name],
		TLSClientConfig: rest.TLSClientConfig{CAData: c.ca},
		UserAgent:       "devcluster/" + u.name,
		ContentConfig:   rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf"},
	}
}

func (c *credentials) writeKubeconfig(u user, file string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["devcluster"] = &clientcmdapi.Cluster{Server: c.server, CertificateAuthorityData: c.ca}
	config.AuthInfos[u.name] = &clientcmdapi.AuthInfo{Token: c.tokens[u.name]}
	config.Contexts["devcluster"] = &clientcmdapi.Context{Cluster: "devcluster", AuthInfo: u.name}
	config.CurrentContext = "devcluster"
	return clientcmd.WriteToFile(*config, file)
}

func createCredentials(dir string) error {
	// Elliptic keys: made in no time, where an RSA key costs a good part of the start.
	caKey, err := newKey(filepath.Join(dir, "ca.key"))
	if err != nil {
		return err
	}
	ca := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "devcluster-ca"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	if err := writeCertificate(filepath.Join(dir, "ca.crt"), ca, ca, caKey, caKey); err != nil {
		return err
	}

	servingKey, err := newKey(filepath.Join(dir, "apiserver.key"))
	if err != nil {
		return err
	}
	serving := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "kube-apiserver"},
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
			"kubernetes.default.svc.cluster.local"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if err := writeCertificate(filepath.Join(dir, "apiserver.crt"), serving, ca, servingKey, caKey); err != nil {
		return err
	}

	saKey, err := newKey(filepath.Join(dir, "sa.key"))
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(saKey.Public())
	if err != nil {
		return err
	}
	if err := writePEM(filepath.Join(dir, "sa.pub"), "PUBLIC KEY", public); err != nil {
		return err
	}

	// Last, because its presence says that the rest is there.
	var csv strings.Builder
	for i, u := range users {
		fmt.Fprintf(&csv, "%s,%s,uid-%d", rand.Text(), u.name, i)
		if u.group != "" {
			fmt.Fprintf(&csv, ",%s", u.group)
		}
		csv.WriteByte('\n')
	}
	return os.WriteFile(filepath.Join(dir, "tokens.csv"), []byte(csv.String()), 0o600)
}

func newKey(file string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, writePEM(file, "EC PRIVATE KEY", der)
}

func writeCertificate(file string, cert, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) error {
	cert.NotBefore = time.Now().Add(-time.Hour)
	cert.NotAfter = time.Now().AddDate(10, 0, 0)
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, key.Public(), parentKey)
	if err != nil {
		return err
	}
	return writePEM(file, "CERTIFICATE", der)
}

func writePEM(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
