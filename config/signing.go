package config

import (
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/windlass-dev/windlass/config/kcm"
)

// The controllers that the manager signs for.
const (
	certificateController = "certificatesigningrequest-signing-controller"
	tokenController       = "serviceaccount-token-controller"
	infoController        = "bootstrap-signer-controller"
)

// Signing says with which keys the manager signs for controllers of built-in plugins: a plugin names what is to be
// signed, the manager reads it and checks it. No plugin ever gets a key, and a module that isn't built in gets no
// signature.
//
// The files are read anew within ten seconds of a change. Contents that can't be used are an error in the log and in
// `windlass status`, and what was read before stays in use, as long as its certificate is good.
type Signing struct {
	// KeyPair is the general one: it signs for all four signers. Name it, or those of single signers.
	KeyPair `json:",inline"`
	// KubeletServing signs for the signer kubernetes.io/kubelet-serving. Where one of the four signers has a pair of its
	// own, those without sign nothing.
	KubeletServing KeyPair `json:"kubeletServing"`
	// KubeletClient signs for the signer kubernetes.io/kube-apiserver-client-kubelet.
	KubeletClient KeyPair `json:"kubeletClient"`
	// KubeAPIServerClient signs for the signer kubernetes.io/kube-apiserver-client.
	KubeAPIServerClient KeyPair `json:"kubeAPIServerClient"`
	// LegacyUnknown signs for the signer kubernetes.io/legacy-unknown.
	LegacyUnknown KeyPair `json:"legacyUnknown"`
	// Duration is how long a certificate is good for at most; a request may ask for less, but not for less than 10m. A
	// duration of more than 0s. Default: 8760h.
	Duration metav1.Duration `json:"duration"`
	// ServiceAccountKeyFile is the path of the private key in PEM, RSA or ECDSA, that service accounts' tokens in Secrets
	// are signed with. Default: none, no token is made.
	ServiceAccountKeyFile string `json:"serviceAccountKeyFile"`
}

// KeyPair names the files of a certificate authority. Set both fields, or neither.
type KeyPair struct {
	// CertFile is the path of the authority's certificate in PEM, exactly one. Default: none.
	CertFile string `json:"certFile"`
	// KeyFile is the path of the certificate's private key in PEM. Default: none.
	KeyFile string `json:"keyFile"`
}

func (p *KeyPair) isSet() bool { return p.CertFile != "" || p.KeyFile != "" }

// single are the pairs of single signers, by the names of their fields.
func (s *Signing) single() []signerPair {
	return []signerPair{
		{"kubeletServing", certificatesv1.KubeletServingSignerName, &s.KubeletServing},
		{"kubeletClient", certificatesv1.KubeAPIServerClientKubeletSignerName, &s.KubeletClient},
		{"kubeAPIServerClient", certificatesv1.KubeAPIServerClientSignerName, &s.KubeAPIServerClient},
		{"legacyUnknown", "kubernetes.io/legacy-unknown", &s.LegacyUnknown},
	}
}

type signerPair struct {
	field, signer string
	pair          *KeyPair
}

// Pairs returns the files by which each signer signs, by the signers' names; one that isn't there signs nothing. Of the
// general pair one file alone counts as none, as with kube-controller-manager's flags (anySpecificFilesSet and
// missingSingleSigningFile in cmd/kube-controller-manager/app/certificates.go).
func (s *Signing) Pairs() map[string]KeyPair {
	pairs, all := map[string]KeyPair{}, s.single()
	own := slices.ContainsFunc(all, func(x signerPair) bool { return x.pair.isSet() })
	for _, x := range all {
		switch {
		case own && x.pair.isSet():
			pairs[x.signer] = *x.pair
		case !own && s.CertFile != "" && s.KeyFile != "":
			pairs[x.signer] = s.KeyPair
		}
	}
	return pairs
}

// Keyless are the signers that sign nothing, for want of files.
func (s *Signing) Keyless() (signers []string) {
	pairs := s.Pairs()
	for _, x := range s.single() {
		if _, ok := pairs[x.signer]; !ok {
			signers = append(signers, x.signer)
		}
	}
	return signers
}

// SignsCertificates reports whether the controller that has certificates signed is turned on.
func (c *Configuration) SignsCertificates() bool { return c.hasOn(certificateController) }

// SignsTokens reports whether the controller that has service accounts' tokens signed is turned on.
func (c *Configuration) SignsTokens() bool { return c.hasOn(tokenController) }

// SignsInfo reports whether the controller is turned on that has the cluster's information signed with bootstrap
// tokens.
func (c *Configuration) SignsInfo() bool { return c.hasOn(infoController) }

func (c *Configuration) hasOn(controller string) bool {
	return isOn(controller, Canonical(c.Controllers, kcm.Aliases()))
}

// validate takes the files as kube-controller-manager's options do, whether or not anything is signed
// (cmd/kube-controller-manager/app/options/csrsigningcontroller.go).
func (s *Signing) validate(p *field.Path, signs bool) (errs field.ErrorList) {
	if signs && s.Duration.Duration <= 0 {
		errs = append(errs, field.Invalid(p.Child("duration"), s.Duration.Duration.String(), "must be more than 0s"))
	}
	for _, x := range s.single() {
		if !x.pair.isSet() {
			continue
		}
		if s.KeyPair.isSet() {
			errs = append(errs, field.Forbidden(p.Child(x.field), "can't be set beside signing.certFile and signing.keyFile,"+
				" which are for all signers: name either those, or the files of single signers"))
		}
		if x.pair.CertFile == "" {
			errs = append(errs, field.Required(p.Child(x.field, "certFile"), "certFile and keyFile go together: name both"))
		}
		if x.pair.KeyFile == "" {
			errs = append(errs, field.Required(p.Child(x.field, "keyFile"), "certFile and keyFile go together: name both"))
		}
	}
	return errs
}

func defaultSigning() Signing {
	return Signing{Duration: metav1.Duration{Duration: 365 * 24 * time.Hour}} // as --cluster-signing-duration
}
