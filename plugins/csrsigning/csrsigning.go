// Package csrsigning has approved certificate requests signed, by the cluster's four signers.
//
// The module never sees a key. It names a request; the host reads that itself, checks it against its signer's rules,
// and gives a placeholder, for which it puts the certificate into the write of the request's status. A request that
// breaks a rule is marked as failed, in the rule's words.
package csrsigning

import (
	"slices"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	certificatesv1 "github.com/windlass-dev/windlass/sdk/api/certificates/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// signers are those whose requests are signed here, each with the files that the operator configures for it.
var signers = []string{
	certificatesv1.KubeletServingSignerName,
	certificatesv1.KubeAPIServerClientKubeletSignerName,
	certificatesv1.KubeAPIServerClientSignerName,
	"kubernetes.io/legacy-unknown",
}

var requests = sdk.Key(certificatesv1.CertificateSigningRequests).
	Fields("spec.request", "spec.signerName", "spec.usages", "spec.expirationSeconds", "status.conditions",
		"status.certificate").QuietOn(abi.QuietDelete)

// Plugin is the certificatesigningrequest-signing module (pkg/controller/certificates/signer).
var Plugin = &sdk.Plugin{
	Name:        "csrsigning",
	Version:     "1.0.0",
	Description: "Signs approved certificate requests of the cluster's four signers.",
	Controllers: []*sdk.Controller{{
		Name:           "certificatesigningrequest-signing-controller",
		Alias:          "csrsigning",
		Queue:          "certificate",
		ServiceAccount: "certificate-controller",
		Reads:          sdk.Views{requests},
		Writes: sdk.Writes{
			certificatesv1.CertificateSigningRequests.Sub("status", "update"),
			// by which the host signs, and which admission asks for of who writes a certificate
			abi.Write{Resource: abi.Resource{Group: "certificates.k8s.io", Version: "v1", Name: "signers"},
				Verbs: []string{"sign"}}.Named(signers...),
		},
		Workers: 5,
		Backoff: abi.Backoff{Base: int64(200 * time.Millisecond), Max: int64(1000 * time.Second)},
		Sync:    sync,
	}},
}

// sync has an approved request signed that has no certificate yet.
func sync(c *sdk.Call) error {
	request, ok := requests.Get(c)
	if !ok || len(request.Status.Certificate) > 0 || !isApproved(request) || hasFailed(request) ||
		!slices.Contains(signers, request.Spec.SignerName) {
		return nil
	}

	certificate, err := c.SignCertificate(request)
	done := sdk.Clone(request)
	switch {
	case sdk.Failed(err, sdk.NoSigningKey):
		return nil // the operator leaves this signer to somebody else
	case sdk.Failed(err, sdk.SignerValidationFailure):
		done.Status.Conditions = append(done.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateFailed, Status: corev1.ConditionTrue, Reason: sdk.SignerValidationFailure,
			Message: err.Error(), LastUpdateTime: c.Now()})
	case err != nil:
		return err
	default:
		done.Status.Certificate = certificate
	}
	c.Add(sdk.UpdateStatus(done))
	return nil
}

// isApproved reports whether somebody has approved a request, and nobody has denied it.
func isApproved(r *certificatesv1.CertificateSigningRequest) bool {
	return has(r, certificatesv1.CertificateApproved) && !has(r, certificatesv1.CertificateDenied)
}

func has(r *certificatesv1.CertificateSigningRequest, t certificatesv1.RequestConditionType) bool {
	return slices.ContainsFunc(r.Status.Conditions, func(x certificatesv1.CertificateSigningRequestCondition) bool {
		return x.Type == t
	})
}

// hasFailed reports whether a request has failed for good.
func hasFailed(r *certificatesv1.CertificateSigningRequest) bool {
	return slices.ContainsFunc(r.Status.Conditions, func(x certificatesv1.CertificateSigningRequestCondition) bool {
		return x.Type == certificatesv1.CertificateFailed && (x.Status == corev1.ConditionTrue || x.Status == "")
	})
}
