package syncer

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects"
)

// PanicError is a panic of the host's own code in a sync: a guest has said what nobody had thought of. It fails that
// sync, and not the process.
type PanicError struct {
	Plugin, Controller string
	Key                abi.KeyRef
	Value              any
	Stack              []byte // of the goroutine that panicked
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("plugin %q: controller %s: key %s: windlass panicked: %v: this is a bug of windlass's, not of the "+
		"plugin's: please report it with the stack in the log", e.Plugin, e.Controller, e.Key.String(), e.Value)
}

// runRecovered runs the session, and makes a panic in it an error.
func (s *Syncer) runRecovered(ctx context.Context) (err error) {
	t, key := s.target, s.turn.Key
	defer func() {
		x := recover()
		if x == nil {
			return
		}
		e := &PanicError{Plugin: t.Plugin, Controller: t.Manifest.Name, Key: key, Value: x, Stack: debug.Stack()}
		if m, ok := x.(*effects.MemberPanic); ok {
			e.Value, e.Stack = m.Value, m.Stack
		}
		s.outcome.Result, s.outcome.Failed, err = Panic, e, e
	}()
	return s.runSession(ctx)
}
