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

// asksPerSync is how much one sync asks before it leaves the rest to the next one: a sync has 1,000 asks. tokensPerAsk
// is how many tokens of a namespace are looked at together.
const (
	asksPerSync  = 700
	tokensPerAsk = 2000
)

// Nothing is read of the data of Secrets, and nothing at all until a sync asks for it. Of all tokens only what has a
// bound is read: annotations and lists are as long as who writes them likes, so these are asked for by namespace, and
// one that has more than fits is left alone.
var (
	legacyTokens = sdk.Select(corev1.Secrets, sdk.In("type", string(corev1.SecretTypeServiceAccountToken))).
			Named("legacy tokens").Lazy().
			Fields("metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.labels["+lastUsed+"]",
			"metadata.labels["+invalidSince+"]").Quiet()
	annotated = sdk.Select(corev1.Secrets, sdk.In("type", string(corev1.SecretTypeServiceAccountToken))).
			Named("annotated tokens").Lazy().First(tokensPerAsk).
			Fields("metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.labels["+lastUsed+"]",
			"metadata.labels["+invalidSince+"]", "metadata.annotations["+corev1.ServiceAccountNameKey+"]",
			"metadata.annotations["+corev1.ServiceAccountUIDKey+"]").Quiet()
	accounts = sdk.Select(corev1.ServiceAccounts, sdk.Exists("secrets.name")).Lazy().First(tokensPerAsk).
			Fields("secrets.name").Quiet()
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
	now := c.Now().Std()
	if err != nil || now.Before(tracked.Add(period)) {
		return err
	}

	cutoff := now.Add(-period)
	unused := slices.DeleteFunc(legacyTokens.List(c), func(s *corev1.Secret) bool { return !unusedSince(s, cutoff) })
	done := string(c.State()) // the namespace at which the sync before has stopped
	unused = slices.DeleteFunc(unused, func(s *corev1.Secret) bool { return s.Namespace <= done })
	c.SetState(nil)
	w := &cleaning{c: c, now: now, cutoff: cutoff}
	for len(unused) > 0 { // they come in the order of their namespaces
		if w.asks > asksPerSync {
			c.SetState([]byte(done))
			return c.After(time.Second)
		}
		done = unused[0].Namespace
		n := slices.IndexFunc(unused, func(s *corev1.Secret) bool { return s.Namespace != unused[0].Namespace })
		if n < 0 {
			n = len(unused)
		}
		w.cleanNamespace(unused[:n])
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
	return !s.Deleting() && s.CreationTimestamp.Std().Before(t) &&
		(!ok || isDate(used) && used < t.Format(time.DateOnly))
}

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// cleaning is the work of one sync.
type cleaning struct {
	c           *sdk.Call
	now, cutoff time.Time
	asks        int
}

// leaveAlone tells of a namespace in which something can't be looked at as a whole: its tokens stay as they are, and
// keep no other namespace's from being cleaned up.
func (w *cleaning) leaveAlone(namespace, what string) {
	w.c.Log("the unused tokens of service accounts in namespace " + namespace + " are left alone: its " + what +
		" are larger than can be looked at")
}

// cleanNamespace deals with the unused tokens of one namespace: with those that were generated, which a service account
// lists, and that no pod uses.
func (w *cleaning) cleanNamespace(unused []*corev1.Secret) {
	namespace := unused[0].Namespace
	var generated []*corev1.Secret
	for some := range slices.Chunk(unused, tokensPerAsk) {
		found, fits := w.generatedOf(namespace, some)
		if !fits {
			return
		}
		generated = append(generated, found...)
	}
	if len(generated) == 0 {
		return
	}

	all, count := pods.AskFirst(w.c, abi.Ask{Namespace: namespace})
	if w.asks++; len(all) < count {
		w.leaveAlone(namespace, "pods")
		return
	}
	inUse := map[string]bool{}
	for _, p := range all {
		p.visitSecrets(func(name string) { inUse[name] = true })
	}

	for _, s := range generated {
		switch since := s.Labels.Get(invalidSince); {
		case inUse[s.Name]:
		case !isDate(since):
			w.c.Add(markInvalid(s, w.now.Format(time.DateOnly)))
		case since < w.cutoff.Format(time.DateOnly):
			w.c.Add(sdk.Delete(s, sdk.IfUnchanged(), sdk.Always(), sdk.Tolerate(abi.TolerateNotFound|abi.TolerateConflict)))
		}
	}
}

// generatedOf returns those of some tokens of a namespace that were generated, and that nobody has used meanwhile; fits
// is whether all could be looked at.
func (w *cleaning) generatedOf(namespace string, some []*corev1.Secret) (generated []*corev1.Secret, fits bool) {
	names := make([]string, 0, len(some))
	for _, s := range some {
		names = append(names, s.Name)
	}
	tokens, count := annotated.AskFirst(w.c, abi.Ask{Namespace: namespace, Names: names})
	if w.asks++; len(tokens) < count {
		w.leaveAlone(namespace, "tokens")
		return nil, false
	}
	tokens = slices.DeleteFunc(tokens, func(s *corev1.Secret) bool { return !unusedSince(s, w.cutoff) })

	names = names[:0]
	for _, s := range tokens {
		if name := s.Annotations.Get(corev1.ServiceAccountNameKey); name != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, true
	}
	owners, count := accounts.AskFirst(w.c, abi.Ask{Namespace: namespace, Names: names})
	if w.asks++; len(owners) < count {
		w.leaveAlone(namespace, "service accounts")
		return nil, false
	}
	return slices.DeleteFunc(tokens, func(s *corev1.Secret) bool { return !isGenerated(s, owners) }), true
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
