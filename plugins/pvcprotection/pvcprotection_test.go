package pvcprotection

import (
	"errors"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// The places of views in a request.
const (
	keepingByName = 1
	usingByName   = 5
)

// The API server is asked only where a claim would be let go, or become unused, and what it says counts.
func TestAsks(t *testing.T) {
	Plugin.Manifest() // numbers the views and settings
	protected := func() *claim {
		x := &claim{Status: claimStatus{Phase: corev1.ClaimBound}}
		x.Namespace, x.Name, x.UID, x.Finalizers = "shop", "data", "u", []string{finalizer}
		return x
	}
	says := func(status corev1.ConditionStatus) *claim {
		x := protected()
		x.Status.Conditions = []corev1.PersistentVolumeClaimCondition{
			{Type: corev1.PersistentVolumeClaimUnused, Status: status},
		}
		return x
	}
	deleted, pending := protected(), protected()
	deleted.DeletionTimestamp = &metav1.Time{}
	*deleted.DeletionTimestamp = metav1.UnixNano(1e9)
	pending.Status.Phase = corev1.ClaimPending

	const inUse, writes = true, true
	for name, c := range map[string]struct {
		claim        *claim
		shown, there bool // a pod that uses the claim: by the cache, by the API server
		asks, writes bool
	}{
		"deleted, the cache shows a pod":             {deleted, inUse, inUse, false, !writes},
		"deleted, the cache lacks a pod":             {deleted, !inUse, inUse, true, !writes},
		"deleted, there is no pod":                   {deleted, !inUse, !inUse, true, writes},
		"says nothing, the cache shows a pod":        {protected(), inUse, inUse, false, writes},
		"says nothing, the cache lacks a pod":        {protected(), !inUse, inUse, true, writes},
		"says nothing, there is no pod":              {protected(), !inUse, !inUse, true, writes},
		"says that it is unused, and is":             {says(corev1.ConditionTrue), !inUse, !inUse, false, !writes},
		"says that it is unused, and isn't":          {says(corev1.ConditionTrue), inUse, inUse, false, writes},
		"says that it is used, and is":               {says(corev1.ConditionFalse), inUse, inUse, false, !writes},
		"says that it is used, the cache lacks that": {says(corev1.ConditionFalse), !inUse, inUse, true, !writes},
		"says that it is used, and isn't":            {says(corev1.ConditionFalse), !inUse, !inUse, true, writes},
		"isn't bound":                                {pending, !inUse, !inUse, false, !writes},
	} {
		asks := 0
		failing := errors.New("the cache doesn't become fresh")
		perform := func(r *abi.PerformRequest) (*abi.PerformResponse, error) {
			a := r.Effects[0].Ask
			if asks++; a == nil || !a.Fresh || !a.Shared || a.Namespace != "shop" {
				t.Errorf("%s: asks %+v", name, a)
			}
			if failing != nil {
				return nil, failing
			}
			v := &abi.ViewData{}
			if a.Count && c.there {
				v.Count = 1
			}
			return &abi.PerformResponse{Outcomes: []abi.Outcome{{View: v}}}, nil
		}

		request := &abi.SyncRequest{Key: abi.KeyRef{Namespace: "shop", Name: "data"}, Now: 2e9,
			Views: make([]abi.ViewData, len(Plugin.Controllers[0].Reads))}
		request.Views[0].Objects = []abi.ObjectData{{Data: resource.Append(nil, c.claim), ResourceVersion: "7"}}
		if c.shown {
			request.Views[keepingByName].Count, request.Views[usingByName].Count = 1, 1
		}
		if a := sdk.Run(Plugin, request, &sdk.Settings{}, perform); c.asks != (a.Error != "") {
			t.Errorf("%s, an ask fails: error %q", name, a.Error)
		}
		failing, asks = nil, 0
		a := sdk.Run(Plugin, request, &sdk.Settings{}, perform)
		if a.Error != "" || c.asks != (asks > 0) || c.writes != (len(a.Effects) > 0) {
			t.Errorf("%s: %d asks, %d writes, error %q", name, asks, len(a.Effects), a.Error)
		}
	}
}
