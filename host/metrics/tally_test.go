package metrics

import (
	"testing"
	"time"
)

// The quantiles are those of the last syncs, in seconds.
func TestRecent(t *testing.T) {
	var r recent
	if p50, p99 := r.quantiles(); p50 != 0 || p99 != 0 {
		t.Errorf("of nothing: %v %v", p50, p99)
	}
	for range recentMost {
		r.add(time.Hour)
	}
	for i := range recentMost {
		r.add(time.Duration(i+1) * time.Millisecond)
	}
	if p50, p99 := r.quantiles(); p50 < 0.25 || p50 > 0.26 || p99 < 0.505 || p99 > 0.508 {
		t.Errorf("p50 %v, p99 %v", p50, p99)
	}
}
