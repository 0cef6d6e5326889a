package metrics

import (
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/windlass-dev/windlass/host/state"
)

// SyncsOf returns how a controller's syncs ended.
func (m *Metrics) SyncsOf(controller string) (s state.Syncs) {
	m.mu.Lock()
	b := m.bounds[controller]
	m.mu.Unlock()
	if b == nil {
		return s
	}
	for result, c := range b.results {
		n := int64(valueOf(c))
		switch result {
		case "stale":
			s.Stale = n
			continue
		case "deferred":
			s.Deferred = n
		case "ok":
		default:
			s.Failed += n
		}
		s.Total += n
	}
	s.P50, s.P99 = b.recent.quantiles()
	s.GuestSeconds, s.Fuel, s.Memory = valueOf(b.guest), int64(valueOf(b.fuel)), int64(valueOf(b.memory))
	return s
}

// WritesByController returns all controllers' writes.
func (m *Metrics) WritesByController() map[string]*state.Writes {
	series := make(chan prometheus.Metric)
	go func() {
		m.Writes.Collect(series)
		close(series)
	}()

	all := map[string]*state.Writes{}
	for x := range series {
		var d dto.Metric
		if x.Write(&d) != nil {
			continue
		}
		labels := map[string]string{}
		for _, l := range d.Label {
			labels[l.GetName()] = l.GetValue()
		}

		w := all[labels["controller"]]
		if w == nil {
			w = &state.Writes{Verbs: map[string]int64{}}
			all[labels["controller"]] = w
		}
		n := int64(d.GetCounter().GetValue())
		w.Verbs[labels["verb"]] += n
		if code, err := strconv.Atoi(labels["code"]); err != nil || code < 200 || code > 299 {
			w.Failed += n
		}
	}
	return all
}

func valueOf(m prometheus.Metric) float64 {
	var d dto.Metric
	if m.Write(&d) != nil {
		return 0
	}
	return d.GetCounter().GetValue() + d.GetGauge().GetValue()
}

// recentMost is of how many of the last syncs the quantiles are.
const recentMost = 512

// recent are the times of the last syncs. Adding takes no lock: each of the workers gets a place of its own.
type recent struct {
	next  atomic.Uint64
	times [recentMost]atomic.Int64 // nanoseconds; 0 for none
}

func (r *recent) add(d time.Duration) {
	r.times[(r.next.Add(1)-1)%recentMost].Store(max(int64(d), 1))
}

// quantiles are the median and the 99th percentile, in seconds; 0 where there is nothing.
func (r *recent) quantiles() (p50, p99 float64) {
	all := make([]int64, 0, recentMost)
	for i := range r.times {
		if d := r.times[i].Load(); d > 0 {
			all = append(all, d)
		}
	}
	if len(all) == 0 {
		return 0, 0
	}
	slices.Sort(all)
	at := func(q float64) float64 { return time.Duration(all[int(q*float64(len(all)-1)+0.5)]).Seconds() }
	return at(0.5), at(0.99)
}
