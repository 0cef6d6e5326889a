// Package bootstrapsigner signs what a node that joins is told of the cluster, with each bootstrap token that is for
// that: who gave a node its token is who vouches for the cluster.
//
// What is signed is the kubeconfig in the config map cluster-info of the namespace kube-public, which anybody may read;
// the signatures stand beside it, one for each token. The module sees of a token whether it may sign, never its secret:
// the host makes the signatures.
package bootstrapsigner

import (
	"strings"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// What a bootstrap token is made of (k8s.io/cluster-bootstrap/token/api).
const (
	namePrefix   = "bootstrap-token-"
	tokenID      = "token-id"
	tokenSecret  = "token-secret"
	expiration   = "expiration"
	usageSigning = "usage-bootstrap-signing"
)

// What is signed, and the beginning of the keys of the signatures.
const (
	kubeconfig      = "kubeconfig"
	signaturePrefix = "jws-kubeconfig-"
)

var (
	clusterInfo = sdk.Select(corev1.ConfigMaps, sdk.In("metadata.namespace", "kube-public"),
		sdk.In("metadata.name", "cluster-info")).Fields("data").Unseen("metadata").QuietOn(abi.QuietDelete)

	// tokens are those whose secret isn't empty. Any change of any token has the signatures looked at, as upstream does:
	// nothing else does when one has expired.
	tokens = bootstrapTokens(sdk.Exists("data[" + tokenSecret + "]"))
	all    = bootstrapTokens().Named("tokens").Unseen("metadata", "data")
)

func bootstrapTokens(where ...sdk.Condition) *sdk.View[corev1.Secret, *corev1.Secret] {
	return sdk.Select(corev1.Secrets, append(where, sdk.In("metadata.namespace", "kube-system"),
		sdk.In("type", string(corev1.SecretTypeBootstrapToken)))...).
		Fields("data["+tokenID+"]", "data["+expiration+"]", "data["+usageSigning+"]")
}

// Plugin is the bootstrap-signer module (pkg/controller/bootstrap/bootstrapsigner.go).
var Plugin = &sdk.Plugin{
	Name:        "bootstrapsigner",
	Version:     "1.0.0",
	Description: "Signs the cluster's information with the bootstrap tokens, for nodes that join.",
	Controllers: []*sdk.Controller{{
		Name:           "bootstrap-signer-controller",
		Alias:          "bootstrapsigner",
		Queue:          "bootstrap_signer_queue",
		ServiceAccount: "bootstrap-signer",
		Reads:          sdk.Views{clusterInfo, all, tokens},
		Writes: sdk.Writes{
			corev1.ConfigMaps.Verbs("update").In("kube-public").Named("cluster-info"),
			corev1.Secrets.Verbs("sign").In("kube-system"),
		},
		Workers:           1,
		DisabledByDefault: true,
		Sync:              sync,
	}},
}

// sync has the signatures be those of the tokens that are good for signing, no more and no fewer.
func sync(c *sdk.Call) error {
	info, ok := clusterInfo.Get(c)
	if !ok || !info.Data.Has(kubeconfig) {
		return nil
	}
	var ids, secrets []string
	for _, t := range tokens.List(c) {
		if isForSigning(t, c.Now().Std()) {
			ids, secrets = append(ids, string(t.Data.Get(tokenID))), append(secrets, t.Name)
		}
	}
	signatures, err := c.SignBootstrap(info, secrets...)
	switch {
	case sdk.Failed(err, sdk.NotFound):
		return nil // a token has gone, and its event comes
	case err != nil:
		return err
	}

	signed := sdk.Clone(info)
	signed.Data = signed.Data.Clone()
	for _, entry := range info.Data {
		if strings.HasPrefix(entry.Key, signaturePrefix) {
			signed.Data.Delete(entry.Key)
		}
	}
	for i, id := range ids {
		signed.Data.Set(signaturePrefix+id, signatures[i])
	}
	if wire.EqualMaps(signed.Data, info.Data) {
		return nil
	}
	c.Add(sdk.Update(signed, sdk.Tolerate(abi.TolerateNotFound)))
	return nil
}

// isForSigning reports whether a token is one to sign with: its Secret is named for it, it says that it is for that,
// and it is still good. One whose end isn't a time isn't.
func isForSigning(t *corev1.Secret, now time.Time) bool {
	id, end := string(t.Data.Get(tokenID)), string(t.Data.Get(expiration))
	if len(id) != 6 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789") != "" || t.Name != namePrefix+id ||
		string(t.Data.Get(usageSigning)) != "true" {
		return false
	}
	expires, err := time.Parse(time.RFC3339, end)
	return end == "" || err == nil && now.Before(expires)
}
