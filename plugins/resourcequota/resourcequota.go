// Package resourcequota writes into each ResourceQuota's status how much of what it bounds is in use.
//
// What is in use is counted anew in each sync: pods with what they ask for, services, claims, and plain numbers of
// objects, in the quota's namespace and its scopes. The API server raises the numbers itself before it admits an
// object; what this controller does is to lower them again, when objects are gone or have come to need less, and to set
// right what has gone wrong.
package resourcequota

import (
	"time"

	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

var (
	syncPeriod = &sdk.Setting{Name: "resource-quota-sync-period", Default: "5m0s",
		Description: "How long after a sync a quota is counted anew though nothing is known to have changed; 0 or less: never."}
	recount = &sdk.Setting{Name: "recount-after", Default: "2s",
		Description: "How long after its numbers were lowered a quota is counted once more; 0 or less: not at all."}
	podsAsWhole = sdk.Gate("PodLevelResources", true, "Whether what a pod asks for as a whole counts.")
	qosIfSet    = sdk.Gate("PodLevelResourcesFixKubeletQOSClass", true,
		"Whether a pod that asks for nothing as a whole is best effort by what its containers ask for.")
)

// Plugin is the resourcequota module (pkg/controller/resourcequota).
var Plugin = &sdk.Plugin{
	Name:        "resourcequota",
	Version:     "1.0.0",
	Description: "Writes into each ResourceQuota's status how much of what it bounds is in use.",
	Settings:    []*sdk.Setting{syncPeriod, recount, podsAsWhole, qosIfSet},
	Check: func(s *sdk.Settings) error {
		for _, x := range []*sdk.Setting{syncPeriod, recount} {
			if _, err := time.ParseDuration(x.In(s)); err != nil {
				return sdk.Errors(x.Name, ": ", x.In(s), " is not a time such as 5m")
			}
		}
		return nil
	},
	Controllers: []*sdk.Controller{{
		Name:           "resourcequota-controller",
		Alias:          "resourcequota",
		Queue:          "resourcequota_primary",
		ServiceAccount: "resourcequota-controller",
		Reads:          reads,
		Writes:         sdk.Writes{corev1.ResourceQuotasResource.Sub("status", "update")},
		Workers:        5,
		Sync:           sync,
	}},
}

// sync counts what the quota bounds, and writes its status where that isn't what it says.
func sync(c *sdk.Call) error {
	quota, ok := quotas.Get(c)
	if !ok {
		return nil
	}
	t := newTally(&quota.Spec)
	t.countPods(c)
	t.countServices(c)
	t.countVolumeClaims(c)
	t.countDevices(c)
	t.countObjects(c)
	used := t.used(quota.Status.Used)

	if !same(quota.Spec.Hard, quota.Status.Hard) || !same(used, quota.Status.Used) {
		now := sdk.Copy(quota)
		now.Status.Hard, now.Status.Used = quota.Spec.Hard, used
		c.UpdateStatus(now)
	}
	if after := againAfter(c, lowers(quota.Status.Used, used)); after > 0 {
		c.After(after)
	}
	return t.err()
}

// againAfter returns after how long a quota is counted again though nothing is known to have changed. Where its numbers
// were lowered that is soon: an object that the API server has admitted, and counted, meanwhile may not have been in
// the cache, and nothing else would tell of that.
func againAfter(c *sdk.Call, lowered bool) time.Duration {
	period, _ := time.ParseDuration(syncPeriod.Get(c))
	soon, _ := time.ParseDuration(recount.Get(c))
	if lowered && soon > 0 && (period <= 0 || soon < period) {
		return soon
	}
	return max(period, 0)
}

// lowers reports whether less of a resource is in use than was said before.
func lowers(before, used corev1.ResourceList) bool {
	for i := range used {
		if q := before.At(used[i].Key); q != nil && used[i].Value.Cmp(*q) < 0 {
			return true
		}
	}
	return false
}

// same reports whether two lists say the same amounts, however these are written.
func same(a, b corev1.ResourceList) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if q := b.At(a[i].Key); q == nil || q.Cmp(a[i].Value) != 0 {
			return false
		}
	}
	return true
}
