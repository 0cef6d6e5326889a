// Package lab runs scenarios on clusters that are equal, for one manager after the other.
package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/bench/audit"
	"github.com/windlass-dev/windlass/bench/figure"
	"github.com/windlass-dev/windlass/bench/scenario"
	"github.com/windlass-dev/windlass/bench/subject"
	"github.com/windlass-dev/windlass/test/cluster"
)

// Options say what is measured.
type Options struct {
	Dir       string // where clusters keep their files
	Scenarios []*scenario.Scenario
	Pairs     int
	More      time.Duration // how long a batch goes on with pairs beyond these, from its first one on; see pairs
	Full      bool          // large sizes, each scenario on clusters of its own
	Kinds     []subject.Kind
	Profiles  string // the folder for profiles of Windlass; empty for none
	Subject   subject.Options
	Say       func(format string, args ...any)
	Done      func(Results) error // is told all results so far whenever scenarios are done; may be nil
}

// Results are the figures of each run, by scenario and manager.
type Results map[string]map[subject.Kind][]figure.Set

// Run measures all scenarios.
func Run(ctx context.Context, o Options) (Results, error) {
	results := Results{}
	groups := groupScenarios(o)
	p := newPace(groups, o)
	for n, g := range groups {
		o.Say("[%d/%d] preparing cluster %q%s", n+1, len(groups), g.base.Name, p.timeLeft())
		template, err := o.template(ctx, g.base)
		if err != nil {
			return results, fmt.Errorf("cluster %s: %w", g.base.Name, err)
		}

		pairs, first := o.Pairs, time.Now()
		for pair := 0; pair < pairs; pair++ {
			for _, k := range o.Kinds {
				o.Say("[%d/%d] %s: pair %d of %d: %s%s", n+1, len(groups), g.base.Name, pair+1, pairs, k, p.timeLeft())
				began := time.Now()
				sets, err := o.measure(ctx, g, template, k)
				if err != nil && ctx.Err() == nil {
					// A machine may stall for once; what fails twice is broken.
					o.Say("    failed, once more on a new cluster: %v", err)
					sets, err = o.measure(ctx, g, template, k)
				}
				if err != nil {
					return results, fmt.Errorf("%s, pair %d: %w", k, pair+1, err)
				}
				p.finishRun(g, time.Since(began))
				for i, s := range g.scenarios {
					if results[s.Name] == nil {
						results[s.Name] = map[subject.Kind][]figure.Set{}
					}
					results[s.Name][k] = append(results[s.Name][k], sets[i])
				}
			}

			if pair == 0 {
				pairs = o.pairsFor(time.Since(first))
				p.addRuns(g, (pairs-o.Pairs)*len(o.Kinds))
			}
		}

		if err := os.RemoveAll(template); err != nil {
			return results, err
		}
		if o.Done != nil {
			if err := o.Done(results); err != nil {
				return results, err
			}
		}
	}

	return results, nil
}

// mostPairs is from where on more pairs don't tell more.
const mostPairs = 9

// pairsFor returns how many pairs a batch has whose first one took so long. It is settled before there is a second:
// figures don't tell when to stop.
func (o Options) pairsFor(first time.Duration) int {
	return max(o.Pairs, min(int(o.More/max(first, 1)), mostPairs))
}

// batch are scenarios that run one after the other under one manager.
type batch struct {
	base      *scenario.Base
	scenarios []*scenario.Scenario
}

// groupScenarios puts scenarios of the same base together, unless each is to have clusters of its own. Where a base
// takes long to prepare, a start goes with whatever follows it then: every run has one.
func groupScenarios(o Options) (all []batch) {
	for _, s := range o.Scenarios {
		i := slices.IndexFunc(all, func(b batch) bool {
			return b.base == s.Base && (!o.Full || s.Base.Prepare != nil && len(b.scenarios) == 1 && b.scenarios[0].Start)
		})
		if i < 0 {
			all = append(all, batch{base: s.Base})
			i = len(all) - 1
		}
		all[i].scenarios = append(all[i].scenarios, s)
	}
	return all
}

// template makes a cluster with what the base has, at rest, and returns the folder of its files.
func (o Options) template(ctx context.Context, b *scenario.Base) (string, error) {
	dir := filepath.Join(o.Dir, "template")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}

	c, err := cluster.Run(ctx, cluster.Options{Dir: dir, Nodes: b.Nodes(o.Full), Audit: true})
	if err != nil {
		return "", err
	}

	defer c.Stop()
	w, err := scenario.NewWorld(c, o.Full)
	if err != nil {
		return "", err
	}

	defer w.Close()
	w.Say = o.Say
	if err := b.Make(ctx, w); err != nil {
		return "", err
	}

	s, err := subject.Start(subject.Native, c, o.Subject)
	if err != nil {
		return "", err
	}

	defer s.Stop()
	w.Alive = s.Err
	if err := w.Tended(ctx); err != nil {
		return "", err
	}
	if _, err := waitForRest(ctx, &audit.Log{Path: c.AuditLog}, s); err != nil {
		return "", err
	}

	s.Stop()
	if err := c.Stop(); err != nil {
		return "", err
	}
	return dir, os.Remove(c.AuditLog)
}

// measure runs the scenarios of a batch under one manager on a copy of the template, and gives the figures of each.
func (o Options) measure(ctx context.Context, g batch, template string, k subject.Kind) (sets []figure.Set, err error) {
	dir := filepath.Join(o.Dir, "run")
	if out, err := exec.CommandContext(ctx, "cp", "-a", template, dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("copying %s: %w: %s", template, err, out)
	}

	defer os.RemoveAll(dir)
	c, err := cluster.Run(ctx, cluster.Options{Dir: dir, Nodes: g.base.Nodes(o.Full), Audit: true})
	if err != nil {
		return nil, err
	}

	defer c.Stop()
	w, err := scenario.NewWorld(c, o.Full)
	if err != nil {
		return nil, err
	}

	defer w.Close()
	w.Say = o.Say
	if err := w.Sentinels(ctx); err != nil {
		return nil, err
	}

	r := &run{profiles: o.Profiles, log: &audit.Log{Path: c.AuditLog}, world: w}
	if err := r.log.Skip(); err != nil {
		return nil, err
	}
	if r.subject, err = subject.Start(k, c, o.Subject); err != nil {
		return nil, err
	}

	defer r.subject.Stop()
	w.Alive = r.subject.Err
	started, err := r.measureStart(ctx, g.base.Name)
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}

	keep := func(s *scenario.Scenario, f figure.Set) {
		sets = append(sets, f)
		o.Say("    %-14s %6.2f s  %6.2f CPU s  %4.0f MiB  %5.0f writes",
			s.Name, f[figure.Wall], f[figure.CPU], f[figure.Steady]/(1<<20), f[figure.Writes])
	}

	for _, s := range g.scenarios {
		if s.Start {
			keep(s, started)
			continue
		}
		f, err := r.scenario(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
		}
		keep(s, f)
	}

	return sets, nil
}

// quiet is how long nobody may have written for a manager to be at rest.
const quiet = time.Second
