package signing

import (
	"errors"
	"fmt"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
)

// Keys are those that the host signs with.
type Keys struct {
	// Of returns a signer's authority as it is now; nil: there is none. The files of one may have been replaced.
	Of func(signer string) *Authority
	// Longest is how long a certificate is good for at most (--cluster-signing-duration).
	Longest time.Duration
	// Tokens returns the key of service accounts' tokens as it is now; nil: there is none.
	Tokens func() *TokenKey
}

// Token is [TokenKey.Token].
func (k *Keys) Token(account *corev1.ServiceAccount, secret *corev1.Secret) (string, error) {
	key := k.Tokens()
	if key == nil {
		return "", noKeyError("service accounts' tokens")
	}
	return key.Token(account, secret)
}

// Bootstrap is [Bootstrap]: that takes no key but the token.
func (*Keys) Bootstrap(info *corev1.ConfigMap, token *corev1.Secret, now time.Time) (key, signature string, _ error) {
	return Bootstrap(info, token, now)
}

// Certificate makes the certificate of a request as the API server has it, in PEM. Only what somebody has approved is
// signed, and nothing twice. A [Refused] says which of its signer's rules the request breaks.
func (k *Keys) Certificate(r *certificatesv1.CertificateSigningRequest, now time.Time) ([]byte, error) {
	has := func(c certificatesv1.RequestConditionType) bool {
		return slices.ContainsFunc(r.Status.Conditions, func(x certificatesv1.CertificateSigningRequestCondition) bool {
			return x.Type == c && (c != certificatesv1.CertificateFailed || x.Status == corev1.ConditionTrue || x.Status == "")
		})
	}
	switch {
	case !has(certificatesv1.CertificateApproved), has(certificatesv1.CertificateDenied):
		return nil, errors.New("nobody has approved it")
	case has(certificatesv1.CertificateFailed):
		return nil, errors.New("it has failed")
	case len(r.Status.Certificate) > 0:
		return nil, errors.New("it has a certificate")
	}

	authority := k.Of(r.Spec.SignerName)
	if authority == nil {
		return nil, noKeyError(fmt.Sprintf("the signer %q", r.Spec.SignerName))
	}
	request, err := ParseRequest(r.Spec.Request)
	if err != nil {
		return nil, fmt.Errorf("unable to parse csr %q: %w", r.Name, err)
	}
	if err := Check(r.Spec.SignerName, request, r.Spec.Usages); err != nil {
		return nil, err
	}
	signed, err := authority.Sign(request, Terms{Usages: r.Spec.Usages, Longest: k.Longest,
		ExpirationSeconds: r.Spec.ExpirationSeconds, Now: now})
	if err != nil {
		return nil, fmt.Errorf("error auto signing csr: %w", err)
	}
	return signed, nil
}

// noKeyError is what there is no key for: others may sign it.
type noKeyError string

func (e noKeyError) Error() string { return "there is no key for " + string(e) }

// Reason is that of the failure that a plugin sees.
func (noKeyError) Reason() string { return "NoSigningKey" }
