package sdk

import "github.com/windlass-dev/windlass/abi"

// SignCertificate has an approved CertificateSigningRequest signed, which the host reads and checks itself. What it
// returns stands for the certificate: it is a placeholder that the host replaces where an UpdateStatus of the same sync
// has it as the request's certificate. A request that breaks a rule of its signer is a failure with the reason
// [SignerValidationFailure] and the rule as its message; one whose signer has no key is one with the
// reason [NoSigningKey]. Only what the operator trusts with the cluster's keys may ask.
func (c *Call) SignCertificate(request Object) ([]byte, error) {
	e := newEffect(abi.EffectSign, request, nil, nil)
	e.Sign = &abi.Sign{Kind: abi.SignCertificate}
	out, err := c.DoAll(e)
	if err != nil {
		return nil, err
	}
	return out[0].Object.Data, nil
}
