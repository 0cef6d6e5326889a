package signing

import (
	"cmp"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// Terms are what the certificate is to be like, beside what the request itself says.
type Terms struct {
	Usages []certificatesv1.KeyUsage
	// Longest is how long a certificate is good for at most (--cluster-signing-duration), and ExpirationSeconds how long
	// the request wants it, where it says so.
	Longest           time.Duration
	ExpirationSeconds *int32
	Now               time.Time
}

const (
	// backdate is by how much a certificate is good before now: clocks differ.
	backdate = 5 * time.Minute
	// long is from what time on that is taken off its end again.
	long = 8 * time.Hour
	// shortest is how long a certificate is good for at least, unless its authority isn't.
	shortest = 10 * time.Minute
)

// duration is how long the certificate is good for, counted from now.
func (t *Terms) duration() time.Duration {
	if t.ExpirationSeconds == nil {
		return t.Longest
	}
	asked := time.Duration(*t.ExpirationSeconds) * time.Second
	if asked > t.Longest {
		return t.Longest
	}
	return max(asked, shortest)
}

// Sign makes the certificate of a request, in PEM: its subject, alternative names and key, none of its extensions. It
// is never an authority's, and never good for longer than its authority.
func (a *Authority) Sign(r *x509.CertificateRequest, t Terms) ([]byte, error) {
	if err := CheckSignature(r); err != nil {
		return nil, fmt.Errorf("unable to verify certificate request signature: %w", err)
	}
	key, extended, err := keyUsages(t.Usages)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		return nil, fmt.Errorf("unable to generate a serial number for %s: %w", r.Subject.CommonName, err)
	}

	end := a.Certificate.NotAfter
	switch begin := t.Now.Add(-backdate); {
	case !begin.Before(end):
		return nil, fmt.Errorf("the signer has expired: NotAfter=%v", end)
	case !t.Now.Before(end):
		return nil, fmt.Errorf("refusing to sign a certificate that expired in the past: NotAfter=%v", end)
	}
	good := t.duration()
	if good >= long {
		good -= backdate
	}
	if own := t.Now.Add(good); own.Before(end) {
		end = own
	}

	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial, Subject: r.Subject,
		DNSNames: r.DNSNames, IPAddresses: r.IPAddresses, EmailAddresses: r.EmailAddresses, URIs: r.URIs,
		KeyUsage: key, ExtKeyUsage: extended, BasicConstraintsValid: true,
		NotBefore: t.Now.Add(-backdate), NotAfter: end,
	}, a.Certificate, r.PublicKey, a.Key)
	if err != nil {
		return nil, fmt.Errorf("failed to sign certificate: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// keyUsages returns usages as a certificate has them, the extended ones in order.
func keyUsages(usages []certificatesv1.KeyUsage) (key x509.KeyUsage, extended []x509.ExtKeyUsage, err error) {
	all := map[x509.ExtKeyUsage]bool{}
	var unknown []certificatesv1.KeyUsage
	for _, u := range usages {
		if k, ok := plainUsages[u]; ok {
			key |= k
		} else if e, ok := extendedUsages[u]; ok {
			all[e] = true
		} else {
			unknown = append(unknown, u)
		}
	}
	if len(unknown) > 0 {
		return 0, nil, fmt.Errorf("unrecognized usage values: %q", unknown)
	}
	return key, slices.SortedFunc(maps.Keys(all), cmp.Compare[x509.ExtKeyUsage]), nil
}

var plainUsages = map[certificatesv1.KeyUsage]x509.KeyUsage{
	certificatesv1.UsageSigning:           x509.KeyUsageDigitalSignature,
	certificatesv1.UsageDigitalSignature:  x509.KeyUsageDigitalSignature,
	certificatesv1.UsageContentCommitment: x509.KeyUsageContentCommitment,
	certificatesv1.UsageKeyEncipherment:   x509.KeyUsageKeyEncipherment,
	certificatesv1.UsageKeyAgreement:      x509.KeyUsageKeyAgreement,
	certificatesv1.UsageDataEncipherment:  x509.KeyUsageDataEncipherment,
	certificatesv1.UsageCertSign:          x509.KeyUsageCertSign,
	certificatesv1.UsageCRLSign:           x509.KeyUsageCRLSign,
	certificatesv1.UsageEncipherOnly:      x509.KeyUsageEncipherOnly,
	certificatesv1.UsageDecipherOnly:      x509.KeyUsageDecipherOnly,
}

var extendedUsages = map[certificatesv1.KeyUsage]x509.ExtKeyUsage{
	certificatesv1.UsageAny:             x509.ExtKeyUsageAny,
	certificatesv1.UsageServerAuth:      x509.ExtKeyUsageServerAuth,
	certificatesv1.UsageClientAuth:      x509.ExtKeyUsageClientAuth,
	certificatesv1.UsageCodeSigning:     x509.ExtKeyUsageCodeSigning,
	certificatesv1.UsageEmailProtection: x509.ExtKeyUsageEmailProtection,
	certificatesv1.UsageSMIME:           x509.ExtKeyUsageEmailProtection,
	certificatesv1.UsageIPsecEndSystem:  x509.ExtKeyUsageIPSECEndSystem,
	certificatesv1.UsageIPsecTunnel:     x509.ExtKeyUsageIPSECTunnel,
	certificatesv1.UsageIPsecUser:       x509.ExtKeyUsageIPSECUser,
	certificatesv1.UsageTimestamping:    x509.ExtKeyUsageTimeStamping,
	certificatesv1.UsageOCSPSigning:     x509.ExtKeyUsageOCSPSigning,
	certificatesv1.UsageMicrosoftSGC:    x509.ExtKeyUsageMicrosoftServerGatedCrypto,
	certificatesv1.UsageNetscapeSGC:     x509.ExtKeyUsageNetscapeServerGatedCrypto,
}
