package controller

import (
	"errors"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/budget"
)

// Keys that syncs wake are held on the plugin's memory, each once, until nothing is left to do for them.
func TestWokenKeysAreHeld(t *testing.T) {
	memory := budget.NewMemory("p", 10*keySize(Key{}), budget.NewTotal(1<<40), nil)
	c := New(Options{Memory: memory}, versionOf(t))
	t.Cleanup(c.queue.ShutDown)
	held := func(what string, keys int64) {
		t.Helper()
		if n := memory.Held(budget.Keys); n/keySize(Key{Name: "a"}) != keys {
			t.Errorf("%s: %d bytes are held", what, n)
		}
	}

	a, b := Key{Name: "a"}, Key{Name: "b"}
	c.WakeAsked(a, false)
	c.WakeAsked(a, false)
	c.WakeAsked(a, true)
	held("one woken twice", 1)
	c.WakeAsked(b, false)
	held("two", 2)
	c.setTimer(b, 1<<40, false)
	c.releaseKey(a)
	c.releaseKey(b)
	held("one that waits for its timer", 1)
	c.releaseKey(a)
	held("one that is released twice", 1)

	w := newWorker(c)
	wake := abi.Effect{Kind: abi.EffectWake, Wake: &abi.Wake{}}
	seven := []abi.Effect{wake, {Kind: abi.EffectGroup, Members: []abi.Effect{wake, wake, wake, wake, wake}}, wake}
	if err := w.refuseWakes(seven); err != nil {
		t.Errorf("seven more: %v", err)
	}
	if err := w.refuseWakes(append(seven, wake, wake)); !errors.As(err, new(*budget.MemoryError)) {
		t.Errorf("nine more: %v", err)
	}
	c.Forget()
	held("a controller that has ended", 0)
}
