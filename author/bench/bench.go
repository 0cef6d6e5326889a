// Package bench measures a plugin's syncs in the sandbox.
package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/windlass-dev/windlass/author/golden"
	"github.com/windlass-dev/windlass/author/guest"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/sandbox"
)

// Options say what is measured.
type Options struct {
	Plugin *plugins.Plugin
	Cases  []*golden.Case
	// For is how long each case is repeated.
	For         time.Duration
	Interpreter bool
}

// Result is what a case's sync costs. Of what is measured in time, it is the average.
type Result struct {
	Case      string  `json:"case"`
	Syncs     int     `json:"syncs"`
	PerSecond float64 `json:"perSecond"`
	// Took is all of a sync in nanoseconds; Guest what the guest ran, Restore what putting back its memory took.
	Took    int64 `json:"took"`
	Guest   int64 `json:"guest"`
	Restore int64 `json:"restore"`
	Fuel    int64 `json:"fuel"`   // units of the sandbox's meter
	Memory  int64 `json:"memory"` // bytes that the guest had asked for
	// Allocs is how often the host has allocated.
	Allocs   float64 `json:"allocs"`
	Performs int     `json:"performs"`
	Request  int     `json:"request"` // bytes, as Answer
	Answer   int     `json:"answer"`
}

// Run measures the cases one after another. What a sync performs is answered as in its case; that isn't part of the
// time.
func Run(ctx context.Context, o Options) ([]Result, error) {
	options := sandbox.Options{Interpreter: o.Interpreter}
	m, err := guest.Load(ctx, o.Plugin, options)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	var all []Result
	for _, c := range o.Cases {
		t := &tape{Guest: m}
		if _, _, err := c.Run(t, true); err != nil {
			return nil, err
		}
		r, err := t.measure(ctx, m, o.For)
		if err != nil {
			return nil, fmt.Errorf("case %s: %w", c.ID(), err)
		}
		r.Case = c.ID()
		all = append(all, *r)
	}
	return all, nil
}

// tape keeps what a sync is given.
type tape struct {
	guest.Guest
	request  []byte
	outcomes [][]byte
	answer   []byte
}

func (t *tape) Sync(request []byte, perform guest.Perform) (answer []byte, stats guest.Stats, err error) {
	t.request = request
	t.answer, stats, err = t.Guest.Sync(request, func(in []byte) ([]byte, error) {
		out, err := perform(in)
		t.outcomes = append(t.outcomes, out)
		return out, err
	})
	return t.answer, stats, err
}

var errStrayed = errors.New("the same sync performs something different each time: it isn't deterministic")

// measure repeats the sync.
func (t *tape) measure(ctx context.Context, m *guest.Module, atLeast time.Duration) (*Result, error) {
	r := &Result{Request: len(t.request), Answer: len(t.answer), Performs: len(t.outcomes)}
	next := 0
	call := &sandbox.Call{
		Size:  len(t.request),
		Write: func(b []byte) { copy(b, t.request) },
		Perform: func(context.Context, []byte) ([]byte, error) {
			if next == len(t.outcomes) {
				return nil, errStrayed
			}
			next++
			return t.outcomes[next-1], nil
		},
	}

	var performing time.Duration
	sync := func() error {
		next = 0
		s, err := m.Sandbox().Sync(ctx, call, func([]byte) error { return nil })
		r.Guest += int64(s.Duration)
		r.Restore += int64(s.Restore)
		r.Fuel, r.Memory = s.Fuel, s.Memory
		performing += s.Perform
		return err
	}
	if err := sync(); err != nil { // makes the instance
		return nil, err
	}

	r.Guest, r.Restore, performing = 0, 0, 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	from := time.Now()
	for time.Since(from) < atLeast || r.Syncs == 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := sync(); err != nil {
			return nil, err
		}
		r.Syncs++
	}

	took := time.Since(from) - performing
	runtime.ReadMemStats(&after)
	n := int64(r.Syncs)
	r.Took, r.Guest, r.Restore = int64(took)/n, r.Guest/n, r.Restore/n
	r.PerSecond = float64(r.Syncs) / took.Seconds()
	r.Allocs = float64(after.Mallocs-before.Mallocs) / float64(n)
	return r, nil
}
