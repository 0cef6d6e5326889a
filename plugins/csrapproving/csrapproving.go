// Package csrapproving approves the requests of kubelets for their client certificates.
//
// Only requests of the signer kubernetes.io/kube-apiserver-client-kubelet are looked at, and of these only such as a
// kubelet makes for its own client certificate. The API server is asked whether who has made the request may have such
// certificates; if so the request is approved, and if not it is left to somebody else.
package csrapproving

import (
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	authorizationv1 "github.com/windlass-dev/windlass/sdk/api/authorization/v1"
	certificatesv1 "github.com/windlass-dev/windlass/sdk/api/certificates/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/x509"
)

var requests = sdk.Key(certificatesv1.CertificateSigningRequests).
	Fields("spec.request", "spec.signerName", "spec.usages", "spec.username", "spec.uid", "spec.groups", "spec.extra",
		"status.conditions", "status.certificate").QuietOn(abi.QuietDelete)

// Plugin is the certificatesigningrequest-approving module (pkg/controller/certificates/approver).
var Plugin = &sdk.Plugin{
	Name:        "csrapproving",
	Version:     "1.0.0",
	Description: "Approves the requests of kubelets for their client certificates, where the requester is authorized.",
	Controllers: []*sdk.Controller{{
		Name:           "certificatesigningrequest-approving-controller",
		Alias:          "csrapproving",
		Queue:          "certificate",
		ServiceAccount: "certificate-controller",
		Reads:          sdk.Views{requests},
		Writes: sdk.Writes{
			authorizationv1.SubjectAccessReviews.Verbs("create"),
			certificatesv1.CertificateSigningRequests.Sub("approval", "update"),
			// which admission asks for of who approves
			abi.Write{Resource: abi.Resource{Group: "certificates.k8s.io", Version: "v1", Name: "signers"},
				Verbs: []string{"approve"}}.Named(certificatesv1.KubeAPIServerClientKubeletSignerName),
		},
		Workers: 5,
		Backoff: abi.Backoff{Base: int64(200 * time.Millisecond), Max: int64(1000 * time.Second)},
		Sync:    sync,
	}},
}

// sync approves a kubelet's request that nobody has decided about, if who has made it may have requests of its kind
// approved: for its own certificate, or for any kubelet's.
func sync(c *sdk.Call) error {
	request, ok := requests.Get(c)
	if !ok || len(request.Status.Certificate) > 0 || isDecided(request) {
		return nil
	}
	x, err := x509.Request(request.Spec.Request)
	if err != nil {
		return sdk.Errors("unable to parse csr \"", request.Name, "\": ", err.Error())
	}
	if !isKubelets(request, x) {
		return nil
	}

	own := request.Spec.Username == x.Subject.CommonName
	if own {
		allowed, err := mayHaveApproved(c, request, "selfnodeclient")
		if err != nil || allowed {
			return approve(c, request, "Auto approving self kubelet client certificate after SubjectAccessReview.", err)
		}
	}
	allowed, err := mayHaveApproved(c, request, "nodeclient")
	if err != nil || allowed {
		return approve(c, request, "Auto approving kubelet client certificate after SubjectAccessReview.", err)
	}

	tried := "[nodeclient]"
	if own {
		tried = "[selfnodeclient nodeclient]"
	}
	return sdk.Errors("recognized csr \"", request.Name, "\" as ", tried, " but subject access review was not approved")
}

// isDecided reports whether somebody has approved or denied a request.
func isDecided(r *certificatesv1.CertificateSigningRequest) bool {
	return slices.ContainsFunc(r.Status.Conditions, func(x certificatesv1.CertificateSigningRequestCondition) bool {
		return x.Type == certificatesv1.CertificateApproved || x.Type == certificatesv1.CertificateDenied
	})
}

// isKubelets reports whether a request is for what a kubelet authenticates with, and for nothing else
// (pkg/apis/certificates, ValidateKubeletClientCSR).
func isKubelets(r *certificatesv1.CertificateSigningRequest, x *abi.X509) bool {
	return r.Spec.SignerName == certificatesv1.KubeAPIServerClientKubeletSignerName &&
		slices.Equal(x.Subject.Organization, []string{"system:nodes"}) &&
		strings.HasPrefix(x.Subject.CommonName, "system:node:") &&
		len(x.DNSNames)+len(x.EmailAddresses)+len(x.IPAddresses)+len(x.URIs) == 0 &&
		isKubeletsUse(r.Spec.Usages)
}

// isKubeletsUse reports whether the usages are those of a client's key, with or without what only RSA keys can do.
func isKubeletsUse(usages []certificatesv1.KeyUsage) bool {
	signs, authenticates := false, false
	for _, u := range usages {
		switch u {
		case certificatesv1.UsageDigitalSignature:
			signs = true
		case certificatesv1.UsageClientAuth:
			authenticates = true
		case certificatesv1.UsageKeyEncipherment:
		default:
			return false
		}
	}
	return signs && authenticates
}

// mayHaveApproved asks the API server whether who has made a request may create the subresource of it, which stands for
// having it approved.
func mayHaveApproved(c *sdk.Call, r *certificatesv1.CertificateSigningRequest, subresource string) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{}
	review.Spec.User, review.Spec.UID, review.Spec.Groups = r.Spec.Username, r.Spec.UID, r.Spec.Groups
	for _, e := range r.Spec.Extra {
		review.Spec.Extra.Set(e.Key, authorizationv1.ExtraValue(e.Value))
	}
	review.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{Group: "certificates.k8s.io", Version: "*",
		Resource: "certificatesigningrequests", Subresource: subresource, Verb: "create"}
	err := c.Do(sdk.Review(review))
	return review.Status.Allowed, err
}

// approve adds the approval, unless the question about it has failed.
func approve(c *sdk.Call, r *certificatesv1.CertificateSigningRequest, message string, err error) error {
	if err != nil {
		return err
	}
	approved := sdk.Clone(r)
	approved.Status.Conditions = append(approved.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "AutoApproved", Message: message})
	c.Add(sdk.UpdateSub("approval", approved))
	return nil
}
