package podgc

import (
	"strconv"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// A node that is back, or has no pods any more, was never missed: when it goes again the time begins anew.
func TestNodeIsBack(t *testing.T) {
	Plugin.Manifest() // numbers the views and settings
	r := &abi.SyncRequest{Controller: 1, Key: abi.KeyRef{Name: "n1"}, Now: 50e9, State: strconv.AppendInt(nil, 10e9, 10),
		Views: make([]abi.ViewData, 3)}
	a := sdk.Run(Plugin, r, &sdk.Settings{}, nil)
	if a.KeepState || len(a.State) > 0 || a.RequeueAfter != 0 || a.Error != "" {
		t.Errorf("state kept: %v, %q; requeued after %d, error %q", a.KeepState, a.State, a.RequeueAfter, a.Error)
	}
}

// Where there are a great many terminated pods, one sync deletes as many as it can carry and the next one the rest.
func TestMost(t *testing.T) {
	Plugin.Manifest() // numbers the views and settings
	const n = most + 500
	all := make([]abi.ObjectData, n)
	for i := range all {
		p := &Pod{Status: PodStatus{Phase: corev1.PodSucceeded}}
		p.Namespace, p.Name, p.UID = "a", strconv.Itoa(n+i), "u"
		all[i].Data = resource.Append(nil, p)
	}
	deleted, reason := 0, ""
	perform := func(r *abi.PerformRequest) (*abi.PerformResponse, error) {
		if e := r.Effects[0]; e.Kind == abi.EffectView {
			return &abi.PerformResponse{Outcomes: []abi.Outcome{{View: &abi.ViewData{Objects: all}}}}, nil
		}
		deleted = len(r.Effects[0].Members)
		members := make([]abi.Outcome, deleted)
		if reason != "" {
			members[1] = abi.Outcome{Code: abi.CodeFailed, Reason: reason, Message: reason}
		}
		return &abi.PerformResponse{Outcomes: []abi.Outcome{{Members: members}}}, nil
	}
	for _, c := range []struct {
		threshold string
		deleted   int
		again     bool
	}{{"1", most, true}, {"499", most, true}, {"500", most, false}, {"501", most - 1, false}} {
		r := &abi.SyncRequest{Views: []abi.ViewData{{Count: n}, {}, {}}}
		a := sdk.Run(Plugin, r, &sdk.Settings{Values: []string{c.threshold, "40s"}}, perform)
		if a.Error != "" || deleted != c.deleted || (a.RequeueAfter == 1) != c.again {
			t.Errorf("threshold %s: %d deleted, requeued after %d ns, error %q", c.threshold, deleted, a.RequeueAfter, a.Error)
		}
	}

	// After a failure the key's backoff says when: in the next round.
	if k := Plugin.Manifest().Controllers[0]; k.Backoff.Base != k.Key.Period || k.Backoff.Max != k.Key.Period {
		t.Errorf("a period of %d ns, tried again after %d to %d", k.Key.Period, k.Backoff.Base, k.Backoff.Max)
	}
	reason = "InternalError"
	r := &abi.SyncRequest{Views: []abi.ViewData{{Count: n}, {}, {}}}
	if a := sdk.Run(Plugin, r, &sdk.Settings{Values: []string{"1", "40s"}}, perform); a.Error == "" ||
		a.RequeueAfter != 0 {
		t.Errorf("after a failure: requeued after %d ns, error %q", a.RequeueAfter, a.Error)
	}

	// Pods that only finalizers keep don't hold up the others, nor are they a reason to come back.
	reason, deleted = "", 0
	for i := range all[:most+100] {
		p := &Pod{Status: PodStatus{Phase: corev1.PodSucceeded}}
		p.Name, p.DeletionTimestamp, p.DeletionGracePeriodSeconds = strconv.Itoa(i), &metav1.Time{}, new(int64)
		*p.DeletionTimestamp, p.Finalizers = metav1.UnixNano(1e9), []string{"example.com/keep"}
		all[i].Data = resource.Append(nil, p)
	}
	// the one that may stay is "9999"
	if a := sdk.Run(Plugin, r, &sdk.Settings{Values: []string{"1", "40s"}}, perform); a.Error != "" ||
		a.RequeueAfter != 0 || deleted != 400 {
		t.Errorf("with finalizers: %d deleted, requeued after %d ns, error %q", deleted, a.RequeueAfter, a.Error)
	}
}

func TestSettings(t *testing.T) {
	Plugin.Manifest() // numbers the views and settings
	for _, c := range []struct{ threshold, quarantine, err string }{
		{"12500", "40s", ""},
		{"-1", "1m30s", ""},
		{"many", "40s", "terminated-pod-gc-threshold: many is not a whole number"},
		{"", "40s", "terminated-pod-gc-threshold:  is not a whole number"},
		{"1", "40", "node-quarantine: 40 is not a time such as 40s"},
		{"1", "0s", "node-quarantine: 0s is not a time such as 40s"},
	} {
		got := ""
		if err := Plugin.Check(&sdk.Settings{Values: []string{c.threshold, c.quarantine}}); err != nil {
			got = err.Error()
		}
		if got != c.err {
			t.Errorf("threshold %q, quarantine %q: %q, should be %q", c.threshold, c.quarantine, got, c.err)
		}
	}
}
