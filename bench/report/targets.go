package report

import (
	"math"
	"strings"

	"github.com/windlass-dev/windlass/bench/figure"
)

// target is a ratio that must hold.
type target struct {
	scenario, figure string
	most             float64
	ratio            float64
}

func (t target) name() string { return t.scenario + ": " + t.figure }

func (t target) verdict() string {
	switch {
	case math.IsNaN(t.ratio):
		return "not measured"
	case t.ratio > t.most:
		return "missed"
	}
	return "holds"
}

// targets are what must hold, of the scenarios that were run.
func (r *Report) targets() (all []target) {
	add := func(scenario, name, what string, most float64) {
		if s := r.Find(scenario); s != nil {
			all = append(all, target{scenario, what, most, s.figureRow(name).medianRatio()})
		}
	}

	add("idle-pods", figure.Steady, "memory, steady", 0.40)
	add("idle-empty", figure.Steady, "memory, steady", 1)
	add("heartbeats", figure.CPU, "CPU", 0.50)
	add("service", figure.P99, "p99 from pod readiness to slice written", 1)
	add("start-empty", figure.First, "start to first sync", 1)

	for _, s := range r.Scenarios {
		if strings.HasPrefix(s.Name, "growth-") {
			continue
		}
		if s.Name != "heartbeats" {
			add(s.Name, figure.CPU, "CPU", 1)
		}
		if Median(s.figureRow(figure.Wall).native) > 0 {
			add(s.Name, figure.Wall, figure.Wall, 1)
		}
		// Where neither writes there is nothing to compare; where Windlass alone does, the ratio has no bound.
		if r := s.figureRow(figure.Writes); Median(r.native) > 0 || Median(r.windlass) > 0 {
			add(s.Name, figure.Writes, figure.Writes, 1)
		}
	}

	return all
}
