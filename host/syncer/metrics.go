package syncer

import (
	"math"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/views"
)

// countMetrics hands over what an accepted answer counts.
func (s *Syncer) countMetrics(a *abi.SyncResponse) {
	m, key := s.turn.Metrics, s.turn.Key
	if m == nil {
		return
	}
	for i := range a.Metrics {
		if u := &a.Metrics[i]; math.IsNaN(u.Value) {
			u.Value = s.seconds(u)
		}
	}
	if s.labelled == nil {
		s.labelled = func(metric, row int32) ([]string, bool) { return s.target.Labels.Of(&s.snapshot, metric, row) }
	}
	m.Answered(key, dropForeign(&s.snapshot, key, a.Metrics), s.labelled)
	if s.isObjectGone() {
		m.Gone(key)
	}
}

// seconds are those that an update stands for, by the host's clock.
func (s *Syncer) seconds(u *abi.MetricUpdate) float64 {
	from, to := int(u.From)-1, int(u.To)-2
	switch {
	case u.From == 0:
		return time.Since(s.began).Seconds()
	case from < 0 || to < from || to >= len(s.performs):
		return 0
	}
	return s.performs[to].to.Sub(s.performs[from].from).Seconds()
}

// dropForeign leaves out the updates whose namespace is neither the key's nor an object's of the snapshot: no guest
// makes series of its own invention.
func dropForeign(s *views.Snapshot, key abi.KeyRef, updates []abi.MetricUpdate) []abi.MetricUpdate {
	return slices.DeleteFunc(updates, func(u abi.MetricUpdate) bool {
		return u.Namespace != "" && u.Namespace != key.Namespace && !s.In(u.Namespace)
	})
}
