package job

import (
	"strconv"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/decimal"
	"github.com/windlass-dev/windlass/sdk/pod"
)

// After a failure the next pod waits backoffFirst, after each further one twice as long, up to backoffMax.
const (
	backoffFirst = 10 * time.Second
	backoffMax   = 10 * time.Minute
)

// record is how many pods have failed since the last success, and when the last one did. It is the controller's state
// for the job.
type record struct {
	failures int
	last     metav1.Time
}

// loadRecord reads the record that the last sync kept.
func loadRecord(c *sdk.Call) record {
	n, last, _ := strings.Cut(string(c.State()), " ")
	failures, ok := parseNumber(n)
	nanos, also := decimal.Parse(last)
	if !ok || !also {
		return record{}
	}
	return record{failures, metav1.UnixNano(nanos)}
}

func (r record) saveState(c *sdk.Call) {
	if r.failures == 0 {
		c.SetState(nil)
		return
	}
	c.SetState(strconv.AppendInt(append(strconv.AppendInt(nil, int64(r.failures), 10), ' '), r.last.UnixNano(), 10))
}

// afterPods returns the record after further pods have ended: a success makes good all failures before it.
func (r record) afterPods(succeeded, failed []*member) record {
	var success metav1.Time
	for i, m := range succeeded {
		if t := finishTime(m.Pod); i == 0 || t.After(success) {
			success = t
		}
	}
	if len(succeeded) > 0 {
		r = record{}
	}
	first := true
	for _, m := range failed {
		t := finishTime(m.Pod)
		if len(succeeded) > 0 && !t.After(success) {
			continue
		}
		if r.failures++; first || t.After(r.last) {
			r.last, first = t, false
		}
	}
	return r
}

// remainingBackoff returns how long no pod may be made yet.
func (r record) remainingBackoff(now metav1.Time) time.Duration {
	if r.failures == 0 {
		return 0
	}
	d := backoffFirst
	for i := 1; i < r.failures && d < backoffMax; i++ {
		d *= 2
	}
	return max(0, min(d, backoffMax)-now.Sub(r.last))
}

// finishTime returns when the pod ended: when its last container did; else when it stopped being ready; else when it
// was told to go; else, for want of anything better, when it was made.
func finishTime(p *corev1.Pod) metav1.Time {
	if t, ok := lastExit(p); ok {
		return t
	}
	if c := pod.ReadyCondition(p); c != nil && c.Status == corev1.ConditionFalse && !c.LastTransitionTime.IsZero() {
		return c.LastTransitionTime
	}
	if t := p.DeletionTimestamp; t != nil {
		if grace := p.DeletionGracePeriodSeconds; grace != nil {
			return t.Add(-time.Duration(*grace) * time.Second)
		}
		return *t
	}
	return p.CreationTimestamp
}

// lastExit is when the last of the containers ended, if all have. Of init containers only those count that run along
// with the others.
func lastExit(p *corev1.Pod) (last metav1.Time, ok bool) {
	exits := func(s *corev1.ContainerStatus) bool {
		end := s.State.Terminated
		if end == nil || end.FinishedAt.IsZero() {
			return false
		}
		if !ok || end.FinishedAt.After(last) {
			last, ok = end.FinishedAt, true
		}
		return true
	}
	for i := range p.Status.ContainerStatuses {
		if !exits(&p.Status.ContainerStatuses[i]) {
			ok = false
			break
		}
	}
	for i := range p.Status.InitContainerStatuses {
		if s := &p.Status.InitContainerStatuses[i]; pod.Sidecar(p, s.Name) && !exits(s) {
			return last, false
		}
	}
	return last, ok
}
