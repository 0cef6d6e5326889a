package syncer

import (
	"errors"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi"
)

// A panic of the host's fails the sync in which it happens, in whichever goroutine, and the syncer goes on.
func TestAPanicFailsTheSync(t *testing.T) {
	wake := abi.Effect{Kind: abi.EffectWake, Wake: &abi.Wake{Key: abi.KeyRef{Name: "k"}}}
	group := abi.Effect{Kind: abi.EffectGroup, Mode: abi.Parallel, Members: []abi.Effect{wake, wake, wake}}
	for name, answer := range map[string]abi.SyncResponse{
		"an effect of the answer": {Effects: []abi.Effect{wake}},
		"a member of a group":     {Effects: []abi.Effect{group}},
	} {
		t.Run(name, func(t *testing.T) {
			target, _ := newTarget(t)
			target.Module = alwaysAnswers(answer)
			panics := true
			target.Writer.Wake = func(abi.KeyRef, int32, abi.KeyRef) {
				if panics {
					panic("nobody had thought of it")
				}
			}
			around := world{}
			around.put(t, "shop", "web")
			s := &Syncer{World: around, States: &States{}}

			sync := func() Outcome {
				turn := &Turn{Key: abi.KeyRef{Namespace: "shop", Name: "web"}, Metrics: &counts{}}
				if err := s.Prepare(t.Context(), target, turn); err != nil {
					t.Fatal(err)
				}
				return s.Sync(t.Context())
			}
			o := sync()
			var p *PanicError
			if o.Result != Panic || !errors.As(o.Err, &p) || o.Failed != o.Err {
				t.Fatalf("%s: %v", o.Result, o.Err)
			}
			if text := o.Err.Error(); !strings.Contains(text, `plugin "p": controller c: key shop/web: windlass panicked: nobody`) {
				t.Error(text)
			}
			if !strings.Contains(string(p.Stack), "TestAPanicFailsTheSync") {
				t.Errorf("the stack isn't of where it happened:\n%s", p.Stack)
			}

			panics = false
			if o := sync(); o.Result != OK {
				t.Errorf("the next sync: %s: %v", o.Result, o.Err)
			}
		})
	}
}
