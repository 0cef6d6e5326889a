package parity

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/life"
	"github.com/windlass-dev/windlass/test/windlass"
)

// playKind plays the further files of a kind, by managers that have no other controllers than theirs, and that of
// accounts, which namespaces want.
func playKind(t *testing.T, b *book, kind string, lives []*life.Life) {
	all := b.selected(allParts(lives))
	if len(all) == 0 {
		return
	}

	native, ours := newSides(t)
	controllers, settings := configured(lives)
	if !slices.Contains(controllers, accounts) {
		controllers = append(controllers, accounts)
	}

	t.Run("before", func(t *testing.T) {
		for _, s := range []*side{native, ours} {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				s.playBefore(t, all)
			})
		}
	})

	playSides(t, "all", all, native, ours, func(t *testing.T, s *side) { s.startManager(t, controllers, settings, false) })
	t.Run("same", func(t *testing.T) { compare(t, b, all, native, ours) })
	t.Run("requests", func(t *testing.T) { compareRequests(t, b, kind, lives, native, ours) })
	if b.coversAll(allParts(lives)) {
		t.Run("metrics", func(t *testing.T) { compareCounts(t, b, lives, all, native, ours) })
	}
	native.manager.stop()
	ours.manager.stop()
	windlass.ExpectRoles(t, ours.cluster)
}

const accounts = "serviceaccount-controller"

// playBefore plays what comes before the manager runs.
func (s *side) playBefore(t *testing.T, all []*part) {
	begun := slices.DeleteFunc(slices.Clone(all), func(p *part) bool { return p.script.Before == nil })
	s.runEach(t, begun, func(t *testing.T, p *part) { s.stage.Before(t, p.script, p.namespace()) })
}

// compareCounts takes down what one manager has counted more of than the other, of the metrics that the lives name:
// in the namespaces of their scripts, where a metric has a namespace.
func compareCounts(t *testing.T, b *book, lives []*life.Life, all []*part, native, ours *side) {
	names := []string{}
	for _, l := range lives {
		names = append(names, l.Metrics...)
	}
	if len(names) == 0 {
		return
	}

	var counts [2]map[string]map[string]float64
	for i, s := range []*side{native, ours} {
		families, err := s.manager.scrape(t, "/metrics")
		must(t, err)
		counts[i] = map[string]map[string]float64{}
		for _, name := range names {
			counts[i][name] = seriesValues(families[name].GetMetric())
			maps.DeleteFunc(counts[i][name], func(labels string, n float64) bool {
				of := func(p *part) bool { return strings.Contains(labels, "namespace="+p.namespace()) }
				return n == 0 || strings.Contains(labels, "namespace=") && !slices.ContainsFunc(all, of)
			})
		}
	}

	meant := func(line string) bool {
		return slices.ContainsFunc(all, func(p *part) bool {
			fit := func(d life.Difference) bool { return matchesPattern(d.What, line) }
			return strings.Contains(line, "namespace="+p.namespace()) && slices.ContainsFunc(p.script.Differences, fit)
		})
	}
	for _, name := range names {
		theirs, mine := counts[0][name], counts[1][name]
		if len(theirs) == 0 {
			t.Errorf("%s: natively nothing is counted", name)
		}
		keys := maps.Clone(theirs)
		maps.Copy(keys, mine)
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			line := fmt.Sprintf("metric %s{%s}: %v, natively %v", name, k, mine[k], theirs[k])
			if mine[k] != theirs[k] && !meant(line) {
				b.addDifference(all, line, "%s", line)
			}
		}
	}
}
