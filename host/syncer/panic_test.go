package syncer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/sandbox"
	testmodule "github.com/windlass-dev/windlass/test/module"
)

// performs returns a sandboxed module whose syncs perform an effect and answer nothing.
func performs(t *testing.T, e abi.Effect) Module {
	t.Helper()
	request := abi.AppendPerform(nil, &abi.PerformRequest{Effects: []abi.Effect{e}})
	wasm := testmodule.Assemble(t, fmt.Sprintf(`(module
		(import "windlass" "perform" (func $perform (param i32 i32) (result i32)))
		(memory (export "memory") 1)
		(data (i32.const 1024) "%s")
		(func (export "windlass_abi_v1"))
		(func (export "windlass_alloc") (param i32) (result i32) (i32.const 8192))
		(func (export "windlass_manifest") (result i64) (i64.const 0))
		(func (export "windlass_configure") (result i64) (i64.const 0))
		(func (export "windlass_sync") (result i64)
			(drop (call $perform (i32.const 1024) (i32.const %d)))
			(i64.const 0)))`, testmodule.Escape(request), len(request)))
	m, err := sandbox.Load(t.Context(), wasm, sandbox.Options{Name: "p"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// A panic of the host's fails the sync in which it happens, in whichever goroutine, and the syncer goes on.
func TestAPanicFailsTheSync(t *testing.T) {
	wake := abi.Effect{Kind: abi.EffectWake, Wake: &abi.Wake{Key: abi.KeyRef{Name: "k"}}}
	group := abi.Effect{Kind: abi.EffectGroup, Mode: abi.Parallel, Members: []abi.Effect{wake, wake, wake}}
	for name, module := range map[string]Module{
		"an effect of the answer":               alwaysAnswers(abi.SyncResponse{Effects: []abi.Effect{wake}}),
		"a member of a group":                   alwaysAnswers(abi.SyncResponse{Effects: []abi.Effect{group}}),
		"a perform from the sandbox":            performs(t, wake),
		"a member of a group, from the sandbox": performs(t, group),
	} {
		t.Run(name, func(t *testing.T) {
			target, _ := newTarget(t)
			target.Module = module
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
			if text := o.Err.Error(); strings.Count(text, "windlass panicked") != 1 ||
				!strings.Contains(text, `plugin "p": controller c: key shop/web: windlass panicked: nobody`) {
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
