// Package rootca publishes the API server's CA bundle in each namespace.
//
// Each active namespace gets a ConfigMap kube-root-ca.crt with the CA bundle, so that pods can trust the API server.
// One that somebody has changed or deleted is written again. When the file of the bundle changes, all are written anew.
package rootca

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

const (
	name        = "kube-root-ca.crt"
	file        = "ca.crt"
	annotation  = "kubernetes.io/description"
	description = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. " +
		"No other usage is guaranteed across distributions of Kubernetes clusters."
)

var (
	namespaces = sdk.Key(corev1.Namespaces).Fields("status.phase")
	bundles    = sdk.Select(corev1.ConfigMaps, sdk.Join("metadata.namespace", namespaces, "metadata.name"),
		sdk.In("metadata.name", name)).
		Fields("metadata.name", "metadata.annotations", "data", "binaryData").QuietOn(abi.QuietAdd)

	syncs = sdk.Codes("root_ca_cert_publisher_sync_total",
		"[ALPHA] Number of namespace syncs happened in root ca cert publisher.")
	times = sdk.CodeSeconds("root_ca_cert_publisher_sync_duration_seconds",
		"[ALPHA] Number of namespace syncs happened in root ca cert publisher.",
		[]float64{0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384})

	rootCA = &sdk.Setting{Name: "root-ca-file", File: true, Certificates: true,
		Description: "PEM bundle that verifies the API server; by default the one of the kubeconfig. Without either an empty one is published, for pods mount it."}
)

// Plugin is the root-ca-certificate-publisher module (pkg/controller/certificates/rootcacertpublisher).
var Plugin = &sdk.Plugin{
	Name:        "rootca",
	Version:     "1.0.0",
	Description: "Publishes the API server's CA bundle in each namespace.",
	Settings:    []*sdk.Setting{rootCA},
	Metrics:     []*sdk.Metric{syncs, times},
	Controllers: []*sdk.Controller{{
		Name:           "root-ca-certificate-publisher-controller",
		Alias:          "root-ca-cert-publisher",
		Queue:          "root_ca_cert_publisher",
		ServiceAccount: "root-ca-cert-publisher",
		Reads:          sdk.Views{namespaces, bundles},
		Writes:         sdk.Writes{corev1.ConfigMaps.Verbs("create", "update")},
		Workers:        1,
		Sync:           sync,
	}},
}

// sync keeps the config map in every namespace that exists; a create that meets a namespace on its way out is none of
// anybody's concern.
func sync(c *sdk.Call) error {
	if _, ok := namespaces.Get(c); !ok {
		return nil
	}
	published, ok := bundles.Get(c)
	if !ok {
		m := &corev1.ConfigMap{}
		m.Namespace, m.Name = c.Name(), name
		m.Annotations.Set(annotation, description)
		m.Data.Set(file, rootCA.Get(c))
		c.Add(sdk.Create(m, sdk.Tolerate(abi.TolerateNotFound|abi.TolerateNamespaceTerminating)))
		return nil
	}
	if bundle, ok := published.Data.Lookup(file); ok && len(published.Data) == 1 && bundle == rootCA.Get(c) &&
		published.Annotations.Get(annotation) != "" {
		return nil
	}
	m := sdk.Clone(published)
	m.Data = nil
	m.Data.Set(file, rootCA.Get(c))
	m.Annotations.Set(annotation, description)
	return c.Update(m)
}
