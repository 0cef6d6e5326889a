package job

import (
	"slices"
	"strconv"
	"time"

	batchv1 "github.com/windlass-dev/windlass/sdk/api/batch/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/pod"
)

// indexVariable tells a container its pod's index.
const indexVariable = "JOB_COMPLETION_INDEX"

// generateNameMax is how much of generateName the API server takes before the random letters.
const generateNameMax = 58

func (r *run) indexed() bool {
	m := r.job.Spec.CompletionMode
	return m != nil && *m == batchv1.IndexedCompletion
}

// perIndex reports whether each index has failures of its own.
func (r *run) perIndex() bool { return r.job.Spec.BackoffLimitPerIndex != nil }

func (r *run) completions() int { return int(orDefault(r.job.Spec.Completions, 0)) }

// hasValidIndex reports whether the pod counts: in an indexed job it needs an index.
func (r *run) hasValidIndex(m *member) bool {
	return !r.indexed() || m.index >= 0 && m.index < r.completions()
}

// indexOf is the pod's completion index, -1 without one.
func indexOf(p *corev1.Pod) int {
	if i, ok := parseNumber(p.Annotations.Get(batchv1.JobCompletionIndexAnnotation)); ok {
		return i
	}
	return -1
}

// failures is how often the pods of this one's index had failed before it, ignored ones aside.
func failures(p *corev1.Pod) int { return annotated(p, batchv1.JobIndexFailureCountAnnotation) }

// allFailures counts the ignored ones, too.
func allFailures(p *corev1.Pod) int {
	return failures(p) + annotated(p, batchv1.JobIndexIgnoredFailureCountAnnotation)
}

func annotated(p *corev1.Pod, name string) int {
	n, _ := parseNumber(p.Annotations.Get(name))
	return n
}

// indexes are those of the pods that keep accepts. The pods are in their order.
//
//go:noinline
func (r *run) indexes(keep func(*member) bool) (l intervals) {
	for _, m := range r.pods {
		if m.index >= 0 && keep(m) {
			l = l.extend(interval{m.index, m.index})
		}
	}
	return l
}

// countIndexes finds out which indexes have succeeded and failed, and whether that ends the job.
func (r *run) countIndexes() {
	if !r.indexed() {
		return
	}
	s, n := &r.job.Status, r.completions()
	r.counted = parseIntervals(s.CompletedIndexes, n)
	r.done = r.counted.union(r.indexes(func(m *member) bool {
		return m.tracked && r.hasValidIndex(m) && m.Status.Phase == corev1.PodSucceeded
	}))
	r.succeeded = int32(r.done.countAll())

	if r.perIndex() {
		if s.FailedIndexes != nil {
			r.lost = parseIntervals(*s.FailedIndexes, n)
		}
		r.lost = r.lost.union(r.indexes(func(m *member) bool { return m.tracked && r.hasValidIndex(m) && r.losesIndex(m) }))
		if lost, most := r.lost.countAll(), r.job.Spec.MaxFailedIndexes; r.end == nil && lost > 0 {
			switch {
			case most != nil && lost > int(*most):
				r.end = r.failure(batchv1.JobReasonMaxFailedIndexesExceeded,
					"Job has exceeded the specified maximal number of failed indexes")
			case lost+r.done.countAll() >= n:
				r.end = r.failure(batchv1.JobReasonFailedIndexes, "Job has failed indexes")
			}
		}
		r.chooseDelayed()
	}

	if r.end == nil {
		if rule, met := r.metSuccessPolicy(); met {
			r.end = r.condition(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonSuccessPolicy,
				"Matched rules at index "+strconv.Itoa(rule))
		}
	}
}

// losesIndex reports whether the pod's failure is its index's.
func (r *run) losesIndex(m *member) bool {
	if !m.failed {
		return false
	}
	switch r.policyAction(m) {
	case batchv1.PodFailurePolicyActionFailIndex:
		return true
	case batchv1.PodFailurePolicyActionIgnore:
		return false
	}
	return failures(m.Pod) >= int(*r.job.Spec.BackoffLimitPerIndex)
}

// chooseDelayed chooses the failed pods that stay until another one of their index is there: they are all that tells
// how often the index has failed, and when.
func (r *run) chooseDelayed() {
	active := r.indexes(func(m *member) bool { return pod.Active(m.Pod) })
	for _, m := range r.pods {
		if !m.tracked || !m.failed || !r.hasValidIndex(m) || r.done.has(m.index) || r.lost.has(m.index) ||
			active.has(m.index) {
			continue
		}
		last := len(r.delayed) - 1
		switch {
		case last < 0 || r.delayed[last].index != m.index:
			r.delayed = append(r.delayed, m)
		case allFailures(m.Pod) >= allFailures(r.delayed[last].Pod) &&
			!finishTime(m.Pod).Before(finishTime(r.delayed[last].Pod)):
			r.delayed[last] = m
		}
	}
}

// predecessor is the failed pod that the index's next pod replaces, nil where there is none.
//
//go:noinline
func (r *run) predecessor(index int) *member {
	low, high := 0, len(r.delayed)
	for low < high {
		if mid := (low + high) / 2; r.delayed[mid].index < index {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low < len(r.delayed) && r.delayed[low].index == index {
		return r.delayed[low]
	}
	return nil
}

// noteIndexes puts the indexes into the status.
func (r *run) noteIndexes() (changed bool) {
	if !r.indexed() {
		return false
	}
	s := &r.job.Status
	done := r.done.String()
	changed = s.CompletedIndexes != done
	s.CompletedIndexes, s.Succeeded = done, int32(r.done.countAll())
	switch {
	case !r.perIndex():
		changed = changed || s.FailedIndexes != nil
		s.FailedIndexes = nil
	default:
		lost := r.lost.String()
		changed = changed || s.FailedIndexes == nil || *s.FailedIndexes != lost
		s.FailedIndexes = &lost
	}
	return changed
}

// pending are the first n indexes that need a pod.
func (r *run) pending(n int) []int {
	taken := r.done.union(r.lost).union(r.indexes(func(m *member) bool {
		return pod.Active(m.Pod) || r.replacesFailed() && pod.Terminating(m.Pod)
	}))
	taken = append(taken, interval{r.completions(), r.completions()})
	var l []int
	next := 0
	for _, x := range taken {
		for ; next < x.first && next < r.completions() && len(l) < n; next++ {
			l = append(l, next)
		}
		next = max(next, x.last+1)
	}
	return l
}

// ripeIndexes returns the indexes whose last failure is long enough ago; where there are none, wait is the time until
// the first one is.
func (r *run) ripeIndexes(indexes []int) (now []int, wait time.Duration) {
	if !r.perIndex() {
		return indexes, 0
	}
	for _, i := range indexes {
		left := time.Duration(0)
		if m := r.predecessor(i); m != nil {
			left = record{allFailures(m.Pod) + 1, finishTime(m.Pod)}.remainingBackoff(r.c.Now())
		}
		if left == 0 {
			now = append(now, i)
		} else if wait == 0 || left < wait {
			wait = left
		}
	}
	if len(now) > 0 {
		wait = 0
	}
	return now, wait
}

// assignIndex makes the pod that of an index.
func (r *run) assignIndex(p *corev1.Pod, index int) {
	i := strconv.Itoa(index)
	p.Labels, p.Annotations = p.Labels.Clone(), p.Annotations.Clone()
	p.Labels.Set(batchv1.JobCompletionIndexAnnotation, i)
	p.Annotations.Set(batchv1.JobCompletionIndexAnnotation, i)
	p.Spec.Hostname = r.job.Name + "-" + i
	suffix := "-" + i + "-"
	p.GenerateName = r.job.Name[:min(len(r.job.Name), generateNameMax-len(suffix))] + suffix
	if !r.perIndex() {
		return
	}
	counted, ignored := 0, 0
	if m := r.predecessor(index); m != nil {
		counted, ignored = failures(m.Pod), annotated(m.Pod, batchv1.JobIndexIgnoredFailureCountAnnotation)
		if r.countsAgainstLimit(m) {
			counted++
		} else {
			ignored++
		}
	}
	p.Annotations.Set(batchv1.JobIndexFailureCountAnnotation, strconv.Itoa(counted))
	if ignored > 0 {
		p.Annotations.Set(batchv1.JobIndexIgnoredFailureCountAnnotation, strconv.Itoa(ignored))
	}
}

// withIndex are the containers with indexVariable.
func withIndex(containers []corev1.Container) []corev1.Container {
	containers = slices.Clone(containers)
	for i := range containers {
		c := &containers[i]
		if !slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == indexVariable }) {
			c.Env = append(slices.Clip(c.Env), corev1.EnvVar{Name: indexVariable, ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['" + batchv1.JobCompletionIndexAnnotation +
					"']"}}})
		}
	}
	return containers
}

// superfluous returns the active pods that no index needs from the rest, one for each index.
func (r *run) superfluous() (victims, rest []*corev1.Pod) {
	for list := r.active; len(list) > 0; {
		n := 1
		for n < len(list) && list[n].index == list[0].index {
			n++
		}
		same := members(list[:n])
		if r.hasValidIndex(list[0]) {
			pod.Rank(same, nil, metav1.Time{})
			rest = append(rest, same[n-1])
			same = same[:n-1]
		}
		victims = append(victims, same...)
		list = list[n:]
	}
	return victims, rest
}
