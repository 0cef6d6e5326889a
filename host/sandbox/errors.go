package sandbox

import (
	"errors"
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/host/printable"
	"github.com/windlass-dev/windlass/host/sandbox/rewrite"
)

// What can end a call, for errors.Is.
var (
	ErrTrap = errors.New("trap")
	// ErrNotLoaded is that a module that rested can't be loaded: no call has brought that about.
	ErrNotLoaded = errors.New("the module can't be loaded")
	ErrBudget    = errors.New("fuel exhausted")
	ErrDeadline  = errors.New("deadline exceeded")
	ErrCancelled = errors.New("cancelled")
	ErrMemory    = errors.New("out of memory")
	ErrMalformed = errors.New("malformed answer")
	ErrPerform   = errors.New("perform failed")
	ErrHost      = errors.New("windlass panicked")
)

// CallError is why a call into a guest failed. It is one of the errors above, and where the host gave the reason (a
// cancelled context, a failed perform) also that.
type CallError struct {
	Plugin string
	Export string
	Kind   error
	Detail string
	// Trace is the guest's stack when it trapped, innermost first. Its names are the guest's own. Of a std Go guest that
	// panicked it has file and line.
	Trace []string
	Cause error

	frames []Frame // where Trace is Go's own
}

// Error says which plugin failed, in which export, and why.
func (e *CallError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "plugin %q: %s: %v", e.Plugin, e.Export, e.Kind)
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	if e.Cause != nil {
		fmt.Fprintf(&b, ": %v", e.Cause)
	}
	if len(e.Trace) > 0 {
		b.WriteString(" [in " + strings.Join(e.Trace, " < ") + "]")
	}
	return b.String()
}

// Unwrap returns the kind and the cause.
func (e *CallError) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}

// HostPanic is a panic of the host's own code in a function that a guest has called: the cause of a CallError of kind
// ErrHost.
type HostPanic struct {
	Function string // as the guest imports it
	Value    any
	Stack    []byte
}

func (p *HostPanic) Error() string {
	return fmt.Sprintf("%s: %v: this is a bug of windlass's, not of the plugin's", p.Function, p.Value)
}

// errLimit is why a memory.grow was refused that goes beyond the limit of an instance.
var errLimit = errors.New("beyond limits.memory")

// abort is what host functions panic with to end the guest's call; wazero recovers it.
type abort struct {
	kind   error
	detail string
	cause  error
}

func (a *abort) Error() string { return a.kind.Error() }

// failure makes the error of a call from what wazero returned.
func (i *instance) failure(err error) error {
	e := &CallError{Plugin: i.owner.options.Name, Export: i.call.export, Kind: ErrTrap}
	text, stack, _ := strings.Cut(err.Error(), "\nwasm stack trace:")
	var a *abort
	if errors.As(err, &a) {
		e.Kind, e.Detail, e.Cause = a.kind, a.detail, a.cause
	} else {
		e.Detail = printable.Line(strings.TrimPrefix(text, "wasm error: "), 512)
	}
	if e.Kind == ErrTrap || e.Kind == ErrBudget || e.Kind == ErrDeadline {
		e.Trace = guestFrames(stack)
	}

	if said := panicText(i.said); said != "" && e.Kind == ErrTrap {
		e.Detail, e.frames = said, goFrames(string(i.said))
		if len(e.frames) > 0 {
			e.Trace = nil
		}
		for _, f := range e.frames {
			e.Trace = append(e.Trace, f.String())
		}
	}

	switch {
	case e.Kind != ErrTrap || i.refused == nil:
	case errors.Is(i.refused, errLimit):
		e.Kind = ErrMemory
		e.Detail = fmt.Sprintf("the module asked for more memory than its limit of %s, then: %s: raise limits.memory",
			sizeText(int64(i.owner.limit)*pageSize), e.Detail)
	default:
		e.Kind, e.Detail, e.Cause = ErrMemory, "after a memory.grow that was refused: "+e.Detail, i.refused
	}
	return e
}

// guestFrames takes the guest's frames from wazero's text; names are the guest's, so they are bounded and made
// printable.
func guestFrames(stack string) []string {
	const most = 12
	var frames []string
	for line := range strings.Lines(stack) {
		line = strings.TrimSpace(line)
		name, _, _ := strings.Cut(line, "(")
		if name = strings.TrimPrefix(name, "."); name == "" || strings.HasPrefix(name, rewrite.MeterModule) {
			continue
		}
		if len(frames) == most {
			return append(frames, "...")
		}
		frames = append(frames, printable.Line(name, 80))
	}
	return frames
}
