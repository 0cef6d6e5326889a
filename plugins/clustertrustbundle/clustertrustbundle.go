// Package clustertrustbundle publishes the API server's CA bundle for the whole cluster.
//
// There is one ClusterTrustBundle of the signer kubernetes.io/kube-apiserver-serving. Its name has a part of the
// bundle's hash, so another bundle gets another object, and then the one before is deleted, as is any other of that
// signer. One that somebody has changed or deleted is written again.
package clustertrustbundle

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	certificatesv1 "github.com/windlass-dev/windlass/sdk/api/certificates/v1"
)

const (
	signer = "kubernetes.io/kube-apiserver-serving"
	// prefix is what the API server demands of the names of this signer's bundles.
	prefix = "kubernetes.io:kube-apiserver-serving:"
	// hashed is how many bytes of a bundle's hash are in its name.
	hashed = 12
)

var (
	// bundles are looked at whenever one changes in anything, as upstream does: there are one or two of them, and one that
	// goes may be on its way for long.
	bundles = sdk.Select(certificatesv1.ClusterTrustBundles, sdk.In("spec.signerName", signer)).
		Fields("metadata", "spec")

	syncs = sdk.Codes("clustertrustbundle_publisher_sync_total",
		"[ALPHA] Number of syncs that occurred in cluster trust bundle publisher.")
	times = sdk.CodeSeconds("clustertrustbundle_publisher_sync_duration_seconds",
		"[ALPHA] The time it took to sync a cluster trust bundle.",
		[]float64{0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384})

	rootCA = &sdk.Setting{Name: "root-ca-file", File: true, Certificates: true,
		Description: "PEM bundle that verifies the API server; by default the one of the kubeconfig. Without either nothing is published."}
	clusterTrustBundle = sdk.Gate("ClusterTrustBundle", true, "Whether the bundle is published.")
)

// Plugin is the clustertrustbundle module (pkg/controller/certificates/clustertrustbundlepublisher).
var Plugin = &sdk.Plugin{
	Name:        "clustertrustbundle",
	Version:     "1.0.0",
	Description: "Publishes the API server's CA bundle for the whole cluster.",
	Settings:    []*sdk.Setting{rootCA, clusterTrustBundle},
	Metrics:     []*sdk.Metric{syncs, times},
	Controllers: []*sdk.Controller{{
		Name:           "kube-apiserver-serving-clustertrustbundle-publisher-controller",
		Queue:          "ca_cert_publisher_cluster_trust_bundles",
		ServiceAccount: "kube-apiserver-serving-clustertrustbundle-publisher",
		Reads:          sdk.Views{bundles},
		Writes: sdk.Writes{
			certificatesv1.ClusterTrustBundles.Verbs("create", "update", "delete"),
			// which admission asks for of who writes a signer's bundle
			abi.Write{Resource: abi.Resource{Group: "certificates.k8s.io", Version: "v1", Name: "signers"},
				Verbs: []string{"attest"}}.Named(signer),
		},
		By:      sdk.KeyedBy{Single: true},
		Workers: 1,
		Sync:    sync,
	}},
}

// sync publishes the bundle, and then deletes the signer's others.
func sync(c *sdk.Call) error {
	if !clusterTrustBundle.On(c) {
		return nil
	}
	bundle := rootCA.Get(c)
	if bundle == "" {
		c.Log("nothing is published: neither plugins[clustertrustbundle].settings has a root-ca-file nor the kubeconfig a CA")
		return nil
	}
	sum := sha256.Sum256([]byte(bundle))
	name := prefix + hex.EncodeToString(sum[:hashed])

	var published *certificatesv1.ClusterTrustBundle
	var others []sdk.Effect
	for _, b := range bundles.List(c) {
		if b.Name == name {
			published = b
		} else {
			others = append(others, sdk.Delete(b, sdk.Tolerate(abi.TolerateNotFound)))
		}
	}

	switch {
	case published == nil:
		b := &certificatesv1.ClusterTrustBundle{}
		b.Name, b.Spec.SignerName, b.Spec.TrustBundle = name, signer, bundle
		c.Add(sdk.Create(b))
	case published.Spec.TrustBundle != bundle:
		b := sdk.Clone(published)
		b.Spec.TrustBundle = bundle
		c.Add(sdk.Update(b))
	}
	if len(others) > 0 {
		c.Add(sdk.Parallel(others...))
	}
	return nil
}
