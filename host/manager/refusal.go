package manager

import (
	"sync/atomic"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/host/metrics"
)

// refusal is why the last configuration wasn't applied, if it wasn't. One goroutine notes it.
type refusal struct {
	metrics *metrics.Metrics
	now     atomic.Pointer[error]
}

// why returns the reason, nil: it was applied.
func (r *refusal) why() error {
	if err := r.now.Load(); err != nil {
		return *err
	}
	return nil
}

// note takes note of the reason, which is logged once.
func (r *refusal) note(err error) {
	was := r.why()
	r.now.Store(&err)
	switch {
	case err != nil && (was == nil || was.Error() != err.Error()):
		r.metrics.Reloads.WithLabelValues("failed").Inc()
		klog.ErrorS(err, "Reload failed, at least in part: what it couldn't change runs as before")
	case err == nil && was != nil:
		klog.InfoS("Reload succeeds again: the configuration is applied")
	}
}
