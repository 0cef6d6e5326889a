package cleaner

import (
	"slices"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

const (
	// tracking is the ConfigMap in which the API server says since when it notes which tokens are used, and since its key.
	tracking = "kube-apiserver-legacy-service-account-token-tracking"
	since    = "since"

	// The labels of a token: the day of its last use, by the API server, and that from which on it isn't accepted.
	lastUsed     = "kubernetes.io/legacy-token-last-used"
	invalidSince = "kubernetes.io/legacy-token-invalid-since"
)

// namespacesPerSync is how many namespaces one sync looks into, with two asks each: a sync has 1,000 of them.
const namespacesPerSync = 400

// Nothing is read of the data of Secrets, and nothing at all until a sync asks for it.
var (
	legacyTokens = sdk.Select(corev1.Secrets, sdk.In("type", string(corev1.SecretTypeServiceAccountToken))).
			Named("legacy tokens").Lazy().
			Fields("metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.labels["+lastUsed+"]",
			"metadata.labels["+invalidSince+"]", "metadata.annotations["+corev1.ServiceAccountNameKey+"]",
			"metadata.annotations["+corev1.ServiceAccountUIDKey+"]").Quiet()
	accounts = sdk.Select(corev1.ServiceAccounts, sdk.Exists("secrets.name")).Lazy().Fields("secrets.name").Quiet()
)

// syncLegacyTokens marks the generated tokens of service accounts as invalid that nobody has used for the clean-up
// period, and deletes those that have been invalid for as long. What can't be written keeps no other token from it. Of
// many namespaces each sync looks into some, and the next one goes on behind them.
func syncLegacyTokens(c *sdk.Call) error {
	period, err := time.ParseDuration(cleanUpPeriod.Get(c))
	if err != nil {
		return err
	}
	tracked, err := trackedSince(c)
	now := goTime(c.Now())
	if err != nil || now.Before(tracked.Add(period)) {
		return err
	}

	cutoff := now.Add(-period)
	unused := slices.DeleteFunc(legacyTokens.List(c), func(s *corev1.Secret) bool { return !unusedSince(s, cutoff) })
	done := string(c.State()) // the namespace at which the sync before has stopped
	unused = slices.DeleteFunc(unused, func(s *corev1.Secret) bool { return s.Namespace <= done })
	c.SetState(nil)
	for cleaned := 0; len(unused) > 0; cleaned++ { // they come in the order of their namespaces
		if cleaned == namespacesPerSync {
			c.SetState([]byte(done))
			return c.After(time.Second)
		}
		done = unused[0].Namespace
		n := slices.IndexFunc(unused, func(s *corev1.Secret) bool { return s.Namespace != unused[0].Namespace })
		if n < 0 {
			n = len(unused)
		}
		cleanNamespace(c, unused[:n], now, cutoff)
		unused = unused[n:]
	}
	return nil
}

// trackedSince returns from when on the API server has noted each use of a token. In the ConfigMap is the day on which
// it began, so that is the next one.
func trackedSince(c *sdk.Call) (time.Time, error) {
	m, err := sdk.Get(c, corev1.ConfigMaps, namespaceSystem, tracking)
	if err != nil {
		return time.Time{}, err
	}
	began, err := time.Parse(time.DateOnly, m.Data.Get(since))
	if err != nil {
		return time.Time{}, sdk.Errors("config map ", tracking, ": data[", since, "]: ", m.Data.Get(since), " is not a date")
	}
	return began.AddDate(0, 0, 1), nil
}

// unusedSince reports whether a token is older than the time, and hasn't been used since that day. One that says of its
// last use what is no date may have been.
func unusedSince(s *corev1.Secret, t time.Time) bool {
	used, ok := s.Labels.Lookup(lastUsed)
	return !s.Deleting() && s.Annotations.Get(corev1.ServiceAccountNameKey) != "" &&
		goTime(s.CreationTimestamp).Before(t) &&
		(!ok || isDate(used) && used < t.Format(time.DateOnly))
}

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// cleanNamespace deals with the unused tokens of one namespace: with those that were generated, which a service account
// lists, and that no pod uses.
func cleanNamespace(c *sdk.Call, unused []*corev1.Secret, now, cutoff time.Time) {
	namespace, names := unused[0].Namespace, []string{}
	for _, s := range unused {
		names = append(names, s.Annotations.Get(corev1.ServiceAccountNameKey))
	}

	owners := accounts.Ask(c, abi.Ask{Namespace: namespace, Names: names})
	generated := slices.DeleteFunc(unused, func(s *corev1.Secret) bool { return !isGenerated(s, owners) })
	if len(generated) == 0 {
		return
	}
	inUse := map[string]bool{}
	for _, p := range pods.Ask(c, abi.Ask{Namespace: namespace}) {
		p.visitSecrets(func(name string) { inUse[name] = true })
	}

	for _, s := range generated {
		switch since := s.Labels.Get(invalidSince); {
		case inUse[s.Name]:
		case !isDate(since):
			c.Add(markInvalid(s, now.Format(time.DateOnly)))
		case since < cutoff.Format(time.DateOnly):
			c.Add(sdk.Delete(s, sdk.IfUnchanged(), sdk.Always(), sdk.Tolerate(abi.TolerateNotFound|abi.TolerateConflict)))
		}
	}
}

// isGenerated reports whether a token's service account is there and lists it, as it does with those that Kubernetes
// generated up to v1.23.
func isGenerated(s *corev1.Secret, owners []*corev1.ServiceAccount) bool {
	name, uid := s.Annotations.Get(corev1.ServiceAccountNameKey), s.Annotations.Get(corev1.ServiceAccountUIDKey)
	return slices.ContainsFunc(owners, func(a *corev1.ServiceAccount) bool {
		return a.Name == name && (uid == "" || uid == string(a.UID)) &&
			slices.ContainsFunc(a.Secrets, func(r corev1.ObjectReference) bool { return r.Name == s.Name })
	})
}

// markInvalid has the API server refuse a token from today on. The UID keeps the label from another Secret of the name.
func markInvalid(s *corev1.Secret, today string) sdk.Effect {
	b := wire.AppendQuoted([]byte(`{"metadata":{"uid":`), string(s.UID))
	b = append(b, `,"labels":{"`+invalidSince+`":"`+today+`"}}}`...)
	return sdk.Patch(s, abi.MergePatch, b, sdk.Always())
}
