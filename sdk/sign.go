package sdk

import "github.com/windlass-dev/windlass/abi"

// SignCertificate has an approved CertificateSigningRequest signed, which the host reads and checks itself. What it
// returns stands for the certificate: it is a placeholder that the host replaces where an UpdateStatus of the same sync
// has it as the request's certificate. A request that breaks a rule of its signer is a failure with the reason
// [SignerValidationFailure] and the rule as its message; one whose signer has no key is one with the
// reason [NoSigningKey]. Only what the operator trusts with the cluster's keys may ask.
func (c *Call) SignCertificate(request Object) ([]byte, error) {
	all, err := c.sign(request, abi.Sign{Kind: abi.SignCertificate})
	return all[0].Object.Data, err
}

// SignToken has the token of a service account's Secret made, for the account that the Secret's annotations name. What
// it returns stands for the token, where an Update of the same sync has it in the Secret's data, as token.
func (c *Call) SignToken(secret Object) ([]byte, error) {
	all, err := c.sign(secret, abi.Sign{Kind: abi.SignToken})
	return all[0].Object.Data, err
}

// SignBootstrap has the config map kube-public/cluster-info signed with each of the bootstrap tokens, which are named
// by their Secrets in kube-system. What it returns for each stands for the signature, where an Update of the same sync
// has it in the config map's data, as jws-kubeconfig-ID. One that the config map has already is returned as it is.
func (c *Call) SignBootstrap(info Object, tokens ...string) ([]string, error) {
	var what []abi.Sign
	for _, t := range tokens {
		what = append(what, abi.Sign{Kind: abi.SignBootstrap, Token: t})
	}
	all, err := c.sign(info, what...)
	var signatures []string
	for i := range all {
		signatures = append(signatures, string(all[i].Object.Data))
	}
	return signatures, err
}

func (c *Call) sign(object Object, what ...abi.Sign) ([]abi.Outcome, error) {
	var effects []Effect
	for i := range what {
		e := newEffect(abi.EffectSign, object, nil, nil)
		e.Sign = &what[i]
		effects = append(effects, e)
	}
	return c.DoAll(effects...)
}
