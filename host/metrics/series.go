package metrics

import (
	"container/list"
	"slices"
	"strings"
	"sync"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/budget"
	"github.com/windlass-dev/windlass/host/controller"
)

// seriesMost is how many series one metric may have whose labels have values in objects: whoever may write these could
// otherwise fill the memory with as many as they like.
const seriesMost = 10_000

// series are those of a metric with labels from keys or objects. Each belongs to the keys that have added to it, and of
// a gauge or a sum, or where the key is in a label, it ends with the last of them. Other counters and histograms tell
// of what has been, and what one job did still counts when the next one of the same kind comes: such a series outlives
// its keys, until its place is needed.
type series struct {
	plugin  string
	metric  *PluginMetric
	objects []int // the labels with values in objects
	lasting bool  // it outlives its keys
	end     func(values ...string) bool

	mu    sync.Mutex
	all   map[string]*oneSeries // by its values
	owned map[owner][]share
	idle  list.List // the series of no key any more, the oldest first
	full  bool      // so it has been told
}

// owner is a key of a controller.
type owner struct {
	controller string
	key        controller.Key
}

// oneSeries is one series: how many keys it belongs to, and its place among the idle ones.
type oneSeries struct {
	values []string
	owners int
	idle   *list.Element
}

// share is a key's part in a series: the values in objects that led to it.
type share struct {
	*oneSeries
	objects []string
}

// newSeries returns nil for a metric all of whose label values are declared.
func newSeries(plugin string, p *PluginMetric, c vector) *series {
	d := &p.declared
	s := &series{metric: p, plugin: plugin, end: c.DeleteLabelValues,
		all: map[string]*oneSeries{}, owned: map[owner][]share{}}
	keyed := false
	for i, l := range d.Labels {
		keyed = keyed || l.From == abi.LabelKeyNamespace || l.From == abi.LabelKeyName
		if l.View != "" {
			s.objects = append(s.objects, i)
		}
	}
	if !keyed && s.objects == nil {
		return nil
	}
	s.lasting = !keyed && d.Type != abi.MetricGauge && d.Type != abi.MetricSum
	return s
}

// addValue has put add to the series of these values, or to that of what is beyond the bound, which it returns. It
// belongs to the key from then on. It returns nil where there is no memory for the series.
func (s *series) addValue(o owner, values, objects []string, put func(values []string)) []string {
	s.mu.Lock()
	defer s.mu.Unlock()

	x := s.seriesFor(values)
	if x == nil {
		return nil
	}
	put(x.values)
	if i := slices.IndexFunc(s.owned[o], func(h share) bool { return h.oneSeries == x }); i >= 0 {
		s.owned[o][i].objects = objects
		return x.values
	}

	// The key's text is part of an object that the cache may let go.
	o.key.Resource, o.key.Namespace = strings.Clone(o.key.Resource), strings.Clone(o.key.Namespace)
	o.key.Name = strings.Clone(o.key.Name)
	s.owned[o] = append(s.owned[o], share{x, objects})
	if x.owners++; x.idle != nil {
		s.idle.Remove(x.idle)
		x.idle = nil
	}
	return x.values
}

// seriesFor returns the series of the values, a new one if there is none yet and there is a place; nil: there is no
// memory for it.
func (s *series) seriesFor(values []string) *oneSeries {
	x := s.all[seriesID(values)]
	if x == nil && s.objects != nil && len(s.all) >= seriesMost && !s.dropOldestIdle() {
		for _, i := range s.objects {
			values[i] = abi.Unexpected
		}
		x = s.all[seriesID(values)]
		s.tellFull()
	}
	if x == nil && s.metric.holdSeries() {
		x = &oneSeries{values: values}
		s.all[seriesID(values)] = x
	}
	return x
}

// seriesID returns the values as one text; no value has that byte, which is in no UTF-8.
func seriesID(values []string) string { return strings.Join(values, "\xff") }

// dropOldestIdle ends the series that has been nobody's for longest, and reports whether there was one.
func (s *series) dropOldestIdle() bool {
	first := s.idle.Front()
	if first == nil {
		return false
	}
	s.endSeries(s.idle.Remove(first).(*oneSeries))
	return true
}

func (s *series) endSeries(x *oneSeries) {
	s.end(x.values...)
	delete(s.all, seriesID(x.values))
	s.metric.memory.Add(budget.Series, -s.metric.size)
}

func (s *series) tellFull() {
	if s.full {
		return
	}
	s.full = true
	klog.InfoS("A metric has reached its limit of series: all further values of its labels are counted under one value",
		"metric", s.metric.declared.Name, "plugin", s.plugin, "limit", seriesMost, "value", abi.Unexpected)
}

// releaseMoved takes the series from the key that other values in objects led to than are there now.
func (s *series) releaseMoved(o owner, now []string) {
	s.release(o, func(h share) bool { return !slices.Equal(h.objects, now) })
}

// releaseOthers takes from the key all series but those of these IDs.
func (s *series) releaseOthers(o owner, said map[string]bool) {
	s.release(o, func(h share) bool { return !said[seriesID(h.values)] })
}

// releaseAll takes all series from the key.
func (s *series) releaseAll(o owner) { s.release(o, func(share) bool { return true }) }

// releaseController takes all series from the keys of a controller.
func (s *series) releaseController(controller string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for o, all := range s.owned {
		if o.controller == controller {
			delete(s.owned, o)
			for _, h := range all {
				s.releaseSeries(h.oneSeries)
			}
		}
	}
}

// release takes from the key the series that leave it.
func (s *series) release(o owner, leaves func(share) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	all := s.owned[o]
	if !slices.ContainsFunc(all, leaves) {
		return
	}
	var kept []share
	for _, h := range all {
		if leaves(h) {
			s.releaseSeries(h.oneSeries)
		} else {
			kept = append(kept, h)
		}
	}
	if s.owned[o] = kept; len(kept) == 0 {
		delete(s.owned, o)
	}
}

// releaseSeries ends a series that was its last key's, or notes that it is nobody's now.
func (s *series) releaseSeries(x *oneSeries) {
	switch x.owners--; {
	case x.owners > 0:
	case s.lasting:
		x.idle = s.idle.PushBack(x)
	default:
		s.endSeries(x)
	}
}
