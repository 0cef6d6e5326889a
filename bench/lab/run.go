package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/bench/audit"
	"github.com/windlass-dev/windlass/bench/figure"
	"github.com/windlass-dev/windlass/bench/report"
	"github.com/windlass-dev/windlass/bench/scenario"
	"github.com/windlass-dev/windlass/bench/subject"
)

// run is one manager on one cluster.
type run struct {
	subject *subject.Subject
	world   *scenario.World
	log     *audit.Log
	events  []audit.Event // since the scenario's start

	profiles string
}

// mark is what a manager has used so far.
type mark struct {
	cpu      time.Duration
	received int64
	counts   subject.Counts
}

func (r *run) takeMark() (m mark, err error) {
	if m.counts, err = r.subject.Counts(); err != nil { // first: it costs processor time
		return m, err
	}
	m.received = r.subject.Received()
	m.cpu, err = r.subject.CPU()
	return m, err
}

// measureStart measures a manager's start: from the process's beginning until its controllers work, and on until it is
// at rest.
func (r *run) measureStart(ctx context.Context, base string) (figure.Set, error) {
	f := figure.Set{}
	stop := func() error { return nil }
	if r.profiles != "" { // it serves them soon
		err := errors.New("no profile yet")
		for until := time.Now().Add(10 * time.Second); err != nil && time.Now().Before(until) &&
			ctx.Err() == nil; time.Sleep(time.Millisecond) {
			stop, err = r.profile("start-" + base)
		}
		if err != nil {
			return nil, err
		}
	}
	err := r.world.Started(ctx, func() { f[figure.First] = time.Since(r.subject.Started).Seconds() })
	if err != nil {
		return nil, err
	}
	f[figure.Wall] = time.Since(r.subject.Started).Seconds()
	if err := stop(); err != nil {
		return nil, err
	}
	return f, r.measureUse(ctx, mark{}, f)
}

// scenario measures one scenario.
func (r *run) scenario(ctx context.Context, s *scenario.Scenario) (figure.Set, error) {
	r.world.Reset()
	if s.Setup != nil {
		if err := s.Setup(ctx, r.world); err != nil {
			return nil, fmt.Errorf("setup: %w", err)
		}
		if _, err := waitForRest(ctx, r.log, r.subject); err != nil {
			return nil, err
		}
	}

	if err := r.subject.ResetPeak(); err != nil {
		return nil, err
	}
	before, err := r.takeMark()
	if err != nil {
		return nil, err
	}

	stop, err := r.profile(s.Name)
	if err != nil {
		return nil, err
	}
	if err := s.Act(ctx, r.world); err != nil {
		return nil, err
	}
	if err := stop(); err != nil {
		return nil, err
	}

	f := figure.Set{figure.Wall: r.world.Wall.Seconds(), figure.Made: r.world.Made.Seconds()}
	if err := r.measureUse(ctx, before, f); err != nil {
		return nil, err
	}

	if n := r.world.Events; n > 0 {
		f[figure.PerEvent] = f[figure.CPU] / float64(n)
	}
	reactions := r.world.Reactions
	if reactions == nil {
		reactions = audit.Reactions(r.events)
	}
	if len(reactions) > 0 {
		f[figure.P50], f[figure.P99] = report.Percentile(reactions, 50).Seconds(), report.Percentile(reactions, 99).Seconds()
	}

	return f, nil
}

// profile starts a profile of what follows, if profiles are wanted; stop ends it, and writes one of the heap.
func (r *run) profile(name string) (stop func() error, err error) {
	if r.profiles == "" {
		return func() error { return nil }, nil
	}
	end, err := r.subject.Profile(filepath.Join(r.profiles, name+".cpu"))
	if err != nil {
		return nil, err
	}
	return func() error {
		return errors.Join(end(), r.subject.HeapProfile(filepath.Join(r.profiles, name+".heap")))
	}, nil
}

// measureUse waits until the manager is at rest and measures what it has used since the mark. What it used to come to
// rest counts: it is work left over.
func (r *run) measureUse(ctx context.Context, before mark, f figure.Set) (err error) {
	if r.events, err = waitForRest(ctx, r.log, r.subject); err != nil {
		return err
	}
	cpu, err := r.subject.CPU() // before the mark, which costs some
	if err != nil {
		return err
	}

	after, err := r.takeMark()
	if err != nil {
		return err
	}

	f[figure.CPU] = (cpu - before.cpu).Seconds()
	f[figure.Received] = float64(after.received - before.received)
	if f[figure.Syncs] = after.counts.Syncs - before.counts.Syncs; f[figure.Syncs] > 0 {
		f[figure.SyncTime] = (after.counts.SyncSeconds - before.counts.SyncSeconds) / f[figure.Syncs]
	}
	f[figure.Writes] = 0

	for _, e := range r.events {
		if e.Manager() {
			f[figure.Calls+e.Verb]++
			if e.Write() {
				f[figure.Writes]++
			}
		}
	}

	return r.sampleMemory(ctx, f)
}

// sampleMemory samples what the manager uses at rest.
func (r *run) sampleMemory(ctx context.Context, f figure.Set) error {
	var rss, anon []float64
	for range 5 {
		m, err := r.subject.Memory()
		if err != nil {
			return err
		}
		rss, anon = append(rss, float64(m.RSS)), append(anon, float64(m.Anon))
		f[figure.Peak] = float64(m.Peak)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	counts, err := r.subject.Counts()
	f[figure.Steady], f[figure.Anonymous], f[figure.Heap] = report.Median(rss), report.Median(anon), counts.Heap
	return err
}

// waitForRest waits until the manager has written nothing for a while, and returns what was asked of the API server
// since the log was last read.
func waitForRest(ctx context.Context, log *audit.Log, s *subject.Subject) ([]audit.Event, error) {
	var all []audit.Event
	last := time.Now()
	for deadline := time.Now().Add(5 * time.Minute); ; {
		events, err := log.Read()
		if err != nil {
			return nil, err
		}

		all = append(all, events...)
		if slices.ContainsFunc(events, func(e audit.Event) bool { return e.Manager() && e.Write() }) {
			last = time.Now()
		}
		if time.Since(last) > quiet {
			return all, nil
		}
		if err := s.Err(); err != nil {
			return nil, err
		}
		if time.Now().After(deadline) {
			e := all[len(all)-1]
			return nil, fmt.Errorf("%s does not come to rest: it still writes after 5 minutes, last %s %s %s/%s",
				s.Kind, e.Verb, e.Resource, e.Namespace, e.Name)
		}

		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(250 * time.Millisecond):
		}
	}
}
