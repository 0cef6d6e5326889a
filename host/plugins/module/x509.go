package module

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/signing"
)

// The helper x509 reads PEM. Its head is one of these.
const (
	x509Certificate = "certificate" // the first certificate of the first block
	x509Request     = "request"     // a certificate request; nobody has looked whether it is signed
	x509Signed      = "signed request"
)

// pemMost is how many bytes the helper takes: without a bound, reading a text could take minutes. An object can't hold
// as many.
const pemMost = 2 << 20

// parseX509 returns an abi.X509.
func parseX509(head string, body []byte) ([]byte, error) {
	if len(body) > pemMost {
		return nil, fmt.Errorf("%d bytes of PEM, the limit is %d", len(body), pemMost)
	}

	switch head {
	case x509Certificate:
		c, err := parseCertificate(body)
		if err != nil {
			return nil, err
		}
		return abi.AppendX509(nil, describeCertificate(c)), nil
	case x509Request, x509Signed:
		r, err := signing.ParseRequest(body)
		if err == nil && head == x509Signed {
			err = signing.CheckSignature(r)
		}
		if err != nil {
			return nil, err
		}
		return abi.AppendX509(nil, describeRequest(r)), nil
	}
	return nil, fmt.Errorf("x509 of %q: there are %q, %q and %q", head, x509Certificate, x509Request, x509Signed)
}

func parseCertificate(text []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("PEM block type must be CERTIFICATE")
	}
	all, err := x509.ParseCertificates(block.Bytes)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("the PEM block is empty")
	}
	return all[0], nil
}

func describeCertificate(c *x509.Certificate) *abi.X509 {
	x := &abi.X509{Subject: describeName(&c.Subject), DNSNames: c.DNSNames, EmailAddresses: c.EmailAddresses,
		Issuer: describeName(&c.Issuer), NotBefore: c.NotBefore.Unix(), NotAfter: c.NotAfter.Unix(),
		CA: c.BasicConstraintsValid && c.IsCA}
	describeKey(x, c.PublicKeyAlgorithm, c.PublicKey)
	describeAddresses(x, c.IPAddresses, c.URIs)
	describeExtensions(x, c.Extensions)
	return x
}

func describeRequest(r *x509.CertificateRequest) *abi.X509 {
	x := &abi.X509{Subject: describeName(&r.Subject), DNSNames: r.DNSNames, EmailAddresses: r.EmailAddresses}
	describeKey(x, r.PublicKeyAlgorithm, r.PublicKey)
	describeAddresses(x, r.IPAddresses, r.URIs)
	describeExtensions(x, r.Extensions)
	return x
}

func describeName(n *pkix.Name) abi.X509Name {
	return abi.X509Name{CommonName: n.CommonName, Organization: n.Organization, OrganizationalUnit: n.OrganizationalUnit,
		Country: n.Country, Province: n.Province, Locality: n.Locality, SerialNumber: n.SerialNumber}
}

func describeKey(x *abi.X509, algorithm x509.PublicKeyAlgorithm, key any) {
	if algorithm != x509.UnknownPublicKeyAlgorithm {
		x.KeyAlgorithm = algorithm.String()
	}
	switch k := key.(type) {
	case *rsa.PublicKey:
		x.KeyBits = int32(k.N.BitLen())
	case *ecdsa.PublicKey:
		x.KeyBits = int32(k.Curve.Params().BitSize)
	}
}

func describeAddresses(x *abi.X509, ips []net.IP, uris []*url.URL) {
	for _, ip := range ips {
		x.IPAddresses = append(x.IPAddresses, ip.String())
	}
	for _, u := range uris {
		x.URIs = append(x.URIs, u.String())
	}
}

// The extensions that say what a key is for.
var (
	keyUsage         = asn1.ObjectIdentifier{2, 5, 29, 15}
	extendedKeyUsage = asn1.ObjectIdentifier{2, 5, 29, 37}
)

func describeExtensions(x *abi.X509, all []pkix.Extension) {
	for _, e := range all {
		x.Extensions = append(x.Extensions, abi.X509Extension{ID: e.Id.String(), Critical: e.Critical, Value: e.Value})
		switch {
		case e.Id.Equal(keyUsage):
			x.Usages = append(x.Usages, keyUsagesOf(e.Value)...)
		case e.Id.Equal(extendedKeyUsage):
			x.Usages = append(x.Usages, extendedUsagesOf(e.Value)...)
		}
	}
}

// keyUsages are the bits of a key usage, from the first on.
var keyUsages = []certificatesv1.KeyUsage{
	certificatesv1.UsageDigitalSignature, certificatesv1.UsageContentCommitment, certificatesv1.UsageKeyEncipherment,
	certificatesv1.UsageDataEncipherment, certificatesv1.UsageKeyAgreement, certificatesv1.UsageCertSign,
	certificatesv1.UsageCRLSign, certificatesv1.UsageEncipherOnly, certificatesv1.UsageDecipherOnly,
}

// keyUsagesOf returns nothing of what is malformed: in a certificate it isn't, and in a request nobody has to heed it.
func keyUsagesOf(der []byte) (names []string) {
	var bits asn1.BitString
	if _, err := asn1.Unmarshal(der, &bits); err != nil {
		return nil
	}
	for i, usage := range keyUsages {
		if bits.At(i) != 0 {
			names = append(names, string(usage))
		}
	}
	return names
}

// extendedUsages are those that Kubernetes has names for.
var extendedUsages = map[string]certificatesv1.KeyUsage{
	"2.5.29.37.0":            certificatesv1.UsageAny,
	"1.3.6.1.5.5.7.3.1":      certificatesv1.UsageServerAuth,
	"1.3.6.1.5.5.7.3.2":      certificatesv1.UsageClientAuth,
	"1.3.6.1.5.5.7.3.3":      certificatesv1.UsageCodeSigning,
	"1.3.6.1.5.5.7.3.4":      certificatesv1.UsageEmailProtection,
	"1.3.6.1.5.5.7.3.5":      certificatesv1.UsageIPsecEndSystem,
	"1.3.6.1.5.5.7.3.6":      certificatesv1.UsageIPsecTunnel,
	"1.3.6.1.5.5.7.3.7":      certificatesv1.UsageIPsecUser,
	"1.3.6.1.5.5.7.3.8":      certificatesv1.UsageTimestamping,
	"1.3.6.1.5.5.7.3.9":      certificatesv1.UsageOCSPSigning,
	"1.3.6.1.4.1.311.10.3.3": certificatesv1.UsageMicrosoftSGC,
	"2.16.840.1.113730.4.1":  certificatesv1.UsageNetscapeSGC,
}

func extendedUsagesOf(der []byte) (names []string) {
	var ids []asn1.ObjectIdentifier
	if _, err := asn1.Unmarshal(der, &ids); err != nil {
		return nil
	}
	for _, id := range ids {
		name, known := extendedUsages[id.String()]
		if !known {
			name = certificatesv1.KeyUsage(id.String())
		}
		names = append(names, string(name))
	}
	return names
}
