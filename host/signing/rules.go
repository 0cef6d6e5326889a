package signing

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
)

// Refused is what a request breaks of its signer's rules, in upstream's words. It will be refused each time.
type Refused string

func (r Refused) Error() string { return string(r) }

// Reason is that of upstream's condition, and of the failure that a plugin sees.
func (Refused) Reason() string { return SignerValidationFailure }

// SignerValidationFailure is the reason of a [Refused].
const SignerValidationFailure = "SignerValidationFailure"

// Signers are the names of those whose rules are known here.
func Signers() []string {
	return []string{certificatesv1.KubeletServingSignerName, certificatesv1.KubeAPIServerClientKubeletSignerName,
		certificatesv1.KubeAPIServerClientSignerName, certificatesv1beta1.LegacyUnknownSignerName}
}

// ParseRequest reads a request in PEM. Nobody has looked yet whether it is signed.
func ParseRequest(text []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}

// rsaMost is how many bits an RSA key has at most that a signature is checked with: with a larger one that may take
// minutes.
const rsaMost = 8192

// CheckSignature reports whether a request is signed with the key that it is for.
func CheckSignature(r *x509.CertificateRequest) error {
	if key, ok := r.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() > rsaMost {
		return fmt.Errorf("an RSA key of %d bits, the limit is %d", key.N.BitLen(), rsaMost)
	}
	return r.CheckSignature()
}

// Check reports by a [Refused] which rule of a signer a request breaks first.
func Check(signer string, r *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
	switch signer {
	case certificatesv1.KubeletServingSignerName:
		return checkKubeletServing(r, usages)
	case certificatesv1.KubeAPIServerClientKubeletSignerName:
		return checkKubeletClient(r, usages)
	case certificatesv1.KubeAPIServerClientSignerName:
		return checkClient(usages)
	case certificatesv1beta1.LegacyUnknownSignerName:
		return nil
	}
	return fmt.Errorf("unrecognized signerName: %q", signer)
}

// checkKubeletServing: a kubelet's certificate as a server has the node's names and addresses, and nothing else.
func checkKubeletServing(r *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
	switch {
	case !isOfNodes(r):
		return errOrganization
	case len(r.DNSNames)+len(r.IPAddresses) == 0:
		return Refused("DNS or IP subjectAltName is required")
	case len(r.EmailAddresses) > 0:
		return errEmail
	case len(r.URIs) > 0:
		return errURI
	case !isUse(usages, certificatesv1.UsageServerAuth):
		return Refused("usages did not match [digital signature key encipherment server auth]")
	case !isNamedAsNode(r):
		return errCommonName
	}
	return nil
}

// checkKubeletClient: a kubelet's certificate as a client has no alternative names at all.
func checkKubeletClient(r *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
	switch {
	case !isOfNodes(r):
		return errOrganization
	case len(r.DNSNames) > 0:
		return Refused("DNS subjectAltNames are not allowed")
	case len(r.EmailAddresses) > 0:
		return errEmail
	case len(r.IPAddresses) > 0:
		return Refused("IP subjectAltNames are not allowed")
	case len(r.URIs) > 0:
		return errURI
	case !isNamedAsNode(r):
		return errCommonName
	case !isUse(usages, certificatesv1.UsageClientAuth):
		return Refused("usages did not match [client auth digital signature key encipherment]")
	}
	return nil
}

// checkClient: a client's certificate may be anybody's, for what clients use one.
func checkClient(usages []certificatesv1.KeyUsage) error {
	for _, u := range usages {
		switch u {
		case certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth:
		default:
			return Refused("invalid usage for client certificate: " + string(u))
		}
	}
	if !slices.Contains(usages, certificatesv1.UsageClientAuth) {
		return Refused("missing required usage for client certificate: client auth")
	}
	return nil
}

// What both of a kubelet's certificates are refused for.
const (
	errOrganization = Refused("subject organization is not system:nodes")
	errCommonName   = Refused("subject common name does not begin with system:node:")
	errEmail        = Refused("Email subjectAltNames are not allowed")
	errURI          = Refused("URI subjectAltNames are not allowed")
)

func isOfNodes(r *x509.CertificateRequest) bool {
	return slices.Equal(r.Subject.Organization, []string{"system:nodes"})
}

func isNamedAsNode(r *x509.CertificateRequest) bool {
	return strings.HasPrefix(r.Subject.CommonName, "system:node:")
}

// isUse reports whether usages are those of a key that signs and does what a server or a client does. Only an RSA key
// can encipher others as well.
func isUse(usages []certificatesv1.KeyUsage, main certificatesv1.KeyUsage) bool {
	for _, u := range usages {
		switch u {
		case main, certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment:
		default:
			return false
		}
	}
	return slices.Contains(usages, main) && slices.Contains(usages, certificatesv1.UsageDigitalSignature)
}
