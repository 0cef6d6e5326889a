package signing

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"k8s.io/client-go/util/cert"
)

// Authority is a certificate and the key that belongs to it.
type Authority struct {
	Certificate *x509.Certificate
	Key         crypto.Signer
}

// ParseAuthority reads the contents of the files of a certificate and of its key, in PEM. There has to be exactly one
// certificate, and the key has to be its own.
func ParseAuthority(contents [][]byte) (*Authority, error) {
	if len(contents) != 2 {
		return nil, fmt.Errorf("%d files instead of a certificate's and its key's", len(contents))
	}
	all, err := cert.ParseCertsPEM(contents[0])
	if err != nil {
		return nil, fmt.Errorf("the certificate: %w", err)
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("the certificate: expected 1 certificate, found %d", len(all))
	}
	pair, err := tls.X509KeyPair(contents[0], contents[1])
	if err != nil {
		return nil, err
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, errors.New("the key can't sign")
	}
	return &Authority{Certificate: all[0], Key: key}, nil
}
