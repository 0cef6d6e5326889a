// Package serviceaccounttoken fills the Secrets that somebody has made for tokens of service accounts, and deletes them
// when their accounts are gone.
//
// Such a Secret names its account. It gets the account's token, the CA of the API server and its own namespace. The
// module never sees a token: the host signs it, and the module sees whether there is one. When such a Secret is
// deleted, its account no longer lists it.
package serviceaccounttoken

import (
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// The annotations by which a Secret names its account, and the keys of its data.
const (
	accountName = "kubernetes.io/service-account.name"
	accountUID  = "kubernetes.io/service-account.uid"

	dataToken     = "token"
	dataCA        = "ca.crt"
	dataNamespace = "namespace"
)

var (
	secrets = sdk.Select(corev1.Secrets, sdk.In("type", string(corev1.SecretTypeServiceAccountToken))).
		Fields("metadata.annotations["+accountName+"]", "metadata.annotations["+accountUID+"]",
			"metadata.deletionTimestamp", "data["+dataCA+"]", "data["+dataNamespace+"]")
	// filled is the key's Secret if it has a token.
	filled = sdk.Select(corev1.Secrets, sdk.KeyNamespace(), sdk.KeyName("metadata.name"),
		sdk.In("type", string(corev1.SecretTypeServiceAccountToken)), sdk.Exists("data["+dataToken+"]")).Named("filled").
		Fields("metadata.name").Unseen("data[" + dataToken + "]")
	// accounts is the account that the Secret names: when it goes, the Secret does.
	accounts = sdk.Select(corev1.ServiceAccounts, sdk.Join("metadata.namespace", secrets, "metadata.namespace"),
		sdk.Join("metadata.name", secrets, "metadata.annotations["+accountName+"]")).
		Fields("metadata.name", "secrets").Quiet("secrets").QuietOn(abi.QuietAdd)

	rootCA = &sdk.Setting{Name: "root-ca-file", File: true, Certificates: true,
		Description: "PEM bundle that verifies the API server; by default the one of the kubeconfig. Without either none is put into the Secrets."}
)

// Plugin is the serviceaccount-token module (pkg/controller/serviceaccount/tokens_controller.go).
var Plugin = &sdk.Plugin{
	Name:        "serviceaccounttoken",
	Version:     "1.0.0",
	Description: "Fills Secrets for tokens of service accounts, and deletes those whose accounts are gone.",
	Settings:    []*sdk.Setting{rootCA},
	Controllers: []*sdk.Controller{{
		Name:  "serviceaccount-token-controller",
		Alias: "serviceaccount-token",
		Queue: "serviceaccount_tokens_service",
		// It has no service account: it writes as the manager itself.
		Reads: sdk.Views{secrets, filled, accounts},
		Writes: sdk.Writes{
			corev1.Secrets.Verbs("update", "delete"),
			corev1.ServiceAccounts.Verbs("get", "update", "sign"),
		},
		Workers: 5,
		Backoff: abi.Backoff{Retries: 10},
		State:   true,
		Sync:    sync,
	}},
}

// sync has a Secret hold what belongs into it, or go.
func sync(c *sdk.Call) error {
	secret, ok := secrets.Get(c)
	if !ok {
		return removeReference(c)
	}
	name, uid := secret.Annotations.Get(accountName), metav1.UID(secret.Annotations.Get(accountUID))
	if name == "" {
		return nil
	}
	c.SetState([]byte(name + "\n" + string(uid)))

	account, ok := accounts.Get(c)
	if !ok || uid != "" && uid != account.UID {
		var err error
		account, err = sdk.Get(c, corev1.ServiceAccounts, secret.Namespace, name)
		switch {
		case sdk.Failed(err, sdk.NotFound), err == nil && uid != "" && uid != account.UID:
			return c.Delete(secret, sdk.Tolerate(abi.TolerateNotFound|abi.TolerateConflict))
		case err != nil:
			return err
		}
	}
	return fill(c, secret, account)
}

// fill puts into a Secret what it lacks. One that is being deleted gets nothing more: nobody is to be given its token.
func fill(c *sdk.Call, secret *corev1.Secret, account *corev1.ServiceAccount) error {
	ca := rootCA.Get(c)
	_, hasToken := filled.Get(c)
	needsCA := ca != "" && string(secret.Data.Get(dataCA)) != ca
	needsNamespace := len(secret.Data.Get(dataNamespace)) == 0
	if hasToken && !needsCA && !needsNamespace || secret.DeletionTimestamp != nil {
		return nil
	}

	whole := sdk.Clone(secret)
	whole.Data, whole.Annotations = whole.Data.Clone(), whole.Annotations.Clone()
	if needsCA {
		whole.Data.Set(dataCA, []byte(ca))
	}
	if needsNamespace {
		whole.Data.Set(dataNamespace, []byte(secret.Namespace))
	}
	if !hasToken {
		token, err := c.SignToken(secret)
		switch {
		case sdk.Failed(err, sdk.NoSigningKey), sdk.Failed(err, sdk.NotFound):
			return nil // nobody is to make tokens here, or one of the two is gone
		case err != nil:
			return err
		}
		whole.Data.Set(dataToken, token)
	}
	whole.Annotations.Set(accountName, account.Name)
	whole.Annotations.Set(accountUID, string(account.UID))
	c.Add(sdk.Update(whole, sdk.Tolerate(abi.TolerateNotFound)))
	return nil
}

// conflictsMost is how often the account of a Secret that is gone is read anew, where others write it meanwhile.
const conflictsMost = 10

// removeReference has the account of a Secret that is gone no longer list it.
func removeReference(c *sdk.Call) error {
	name, uid, known := strings.Cut(string(c.State()), "\n")
	if !known {
		return nil
	}
	var err error
	for range conflictsMost {
		if err = removeReferenceOnce(c, name, uid); !sdk.Failed(err, sdk.Conflict) {
			break
		}
	}
	return err
}

func removeReferenceOnce(c *sdk.Call, name, uid string) error {
	account, err := sdk.Get(c, corev1.ServiceAccounts, c.Namespace(), name)
	isIt := func(r corev1.ObjectReference) bool { return r.Name == c.Name() }
	switch {
	case sdk.Failed(err, sdk.NotFound):
		return nil
	case err != nil:
		return err
	case uid != "" && uid != string(account.UID), !slices.ContainsFunc(account.Secrets, isIt):
		return nil
	}
	without := sdk.Clone(account)
	without.Secrets = slices.DeleteFunc(slices.Clone(account.Secrets), isIt)
	return c.Do(sdk.Update(without, sdk.Tolerate(abi.TolerateNotFound)))
}
