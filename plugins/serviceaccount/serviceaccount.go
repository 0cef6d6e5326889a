// Package serviceaccount gives each active namespace its default service account.
//
// A namespace without the account gets it, when it is made and whenever somebody deletes the account. A namespace that
// is being deleted is left alone.
package serviceaccount

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

var (
	namespaces = sdk.Key(corev1.Namespaces).Fields("status.phase")
	accounts   = sdk.Select(corev1.ServiceAccounts, sdk.Join("metadata.namespace", namespaces, "metadata.name"),
		sdk.In("metadata.name", "default")).
		Fields("metadata.name").QuietOn(abi.QuietAdd, abi.QuietUpdate)
)

// Plugin is the serviceaccount module (pkg/controller/serviceaccount/serviceaccounts_controller.go).
var Plugin = &sdk.Plugin{
	Name:        "serviceaccount",
	Version:     "1.0.0",
	Description: "Gives each active namespace its default service account.",
	Controllers: []*sdk.Controller{{
		Name:           "serviceaccount-controller",
		Alias:          "serviceaccount",
		Queue:          "serviceaccount",
		ServiceAccount: "service-account-controller",
		Reads:          sdk.Views{namespaces, accounts},
		Writes:         sdk.Writes{corev1.ServiceAccounts.Verbs("create")},
		Workers:        1,
		Sync:           sync,
	}},
}

func sync(c *sdk.Call) error {
	ns, ok := namespaces.Get(c)
	if !ok || ns.Status.Phase != corev1.NamespaceActive {
		return nil
	}
	if _, ok := accounts.Get(c); ok {
		return nil
	}
	account := &corev1.ServiceAccount{}
	account.Namespace, account.Name = ns.Name, "default"
	c.Add(sdk.Create(account, sdk.Tolerate(abi.TolerateAlreadyExists|abi.TolerateNamespaceTerminating)))
	return nil
}
