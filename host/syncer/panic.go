package syncer

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/sandbox"
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

// runRecovered runs the session, and makes a panic in it an error: also one in a function that a sandboxed guest has
// called, which has ended the guest's call.
func (s *Syncer) runRecovered(ctx context.Context) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = s.panicError(x, debug.Stack())
		}
	}()
	if err = s.runSession(ctx); err != nil {
		return s.recoveredError(err)
	}
	return nil
}

// recoveredError makes the error of a sync that of a panic, if that is what it is.
func (s *Syncer) recoveredError(err error) error {
	var p *sandbox.HostPanic
	if errors.As(err, &p) {
		return s.panicError(p.Value, p.Stack)
	}
	return err
}

// panicError makes the sync one that a panic has failed.
func (s *Syncer) panicError(value any, stack []byte) error {
	e := &PanicError{
		Plugin: s.target.Plugin, Controller: s.target.Manifest.Name, Key: s.turn.Key, Value: value, Stack: stack,
	}
	if m, ok := value.(*effects.MemberPanic); ok {
		e.Value, e.Stack = m.Value, m.Stack
	}
	s.outcome.Result, s.outcome.Failed = Panic, e
	return e
}
