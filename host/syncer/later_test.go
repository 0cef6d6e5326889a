package syncer

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi"
)

// What a later version of the host may understand, this one refuses, with the whole answer: nothing of it is done by
// half.
func TestWhatCameLaterIsRefused(t *testing.T) {
	remove := abi.Effect{Kind: abi.EffectDelete, Resource: "v1/configmaps", Namespace: "shop", Name: "web"}
	change := func(set func(*abi.Effect)) abi.Effect {
		e := remove
		set(&e)
		return e
	}

	for want, e := range map[string]abi.Effect{
		"unknown kind of effect 99":  change(func(e *abi.Effect) { e.Kind = 99 }),
		"unknown group mode 9":       {Kind: abi.EffectGroup, Mode: 9},
		"unknown precondition 9":     change(func(e *abi.Effect) { e.Precondition = 9 }),
		"unknown propagation policy": change(func(e *abi.Effect) { e.Propagation = 9 }),
		"unknown tolerance 64":       change(func(e *abi.Effect) { e.Tolerate = 64 }),
		"unknown patch type 9": change(func(e *abi.Effect) {
			e.Kind, e.Patch, e.Object = abi.EffectPatch, 9, []byte("{}")
		}),
	} {
		t.Run(want, func(t *testing.T) {
			target, requests := newTarget(t, "delete", "patch")
			target.Module = alwaysAnswers(abi.SyncResponse{Effects: []abi.Effect{create("first"), e}})
			k, around := abi.KeyRef{Namespace: "shop", Name: "web"}, world{}
			around.put(t, "shop", "web")

			s := &Syncer{World: around, States: &States{}}
			if err := s.Prepare(t.Context(), target, &Turn{Key: k, Metrics: &counts{}}); err != nil {
				t.Fatal(err)
			}
			o := s.Sync(t.Context())
			if o.Result != Refused || *requests != 0 || !strings.Contains(o.Err.Error(), want) {
				t.Errorf("%s, %d requests: %v", o.Result, *requests, o.Err)
			}
		})
	}
}
