package horizontalpodautoscaler

import (
	"math"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/sdk"
	autoscalingv2 "github.com/windlass-dev/windlass/sdk/api/autoscaling/v2"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// tolerance is how far a ratio of usage and target may be from 1.
type tolerance struct{ down, up float64 }

func (t tolerance) includes(ratio float64) bool { return 1-t.down <= ratio && ratio <= 1+t.up }

// tolerances are those of the behavior, or else the setting's.
func tolerances(c *sdk.Call, b *autoscalingv2.HorizontalPodAutoscalerBehavior) tolerance {
	n := resource.Quantity{Text: defaultTolerance.Get(c)}.NearestFloat64() // upstream's is a flag, and parsed as a float
	t := tolerance{n, n}
	if b == nil {
		return t
	}
	if d := b.ScaleDown; d != nil && d.Tolerance != nil {
		t.down = d.Tolerance.AsApproximateFloat64()
	}
	if u := b.ScaleUp; u != nil && u.Tolerance != nil {
		t.up = u.Tolerance.AsApproximateFloat64()
	}
	return t
}

// usage is what pods use, compared with what they should use.
type usage struct {
	ratio   float64
	average int64
	percent int32 // of what they ask for
}

// byUsage computes replicas from what the pods should use on average.
func (r *run) byUsage(samples []sample, target int64, name corev1.ResourceName) (replicas int32, average int64,
	err error) {
	g, err := r.groupPods(samples, name)
	if err != nil {
		return 0, 0, err
	}
	measure := func(samples []sample) (u usage, err error) {
		sum := int64(0)
		for i := range samples {
			sum += samples[i].value
		}
		u.average = sum / int64(len(samples))
		u.ratio = float64(u.average) / float64(target)
		return u, nil
	}
	replicas, u, err := r.replicasByPods(g, measure, func(*sample) int64 { return target })
	return replicas, u.average, err
}

// byUtilization computes replicas from the percentage that the pods should use of what they ask for.
func (r *run) byUtilization(samples []sample, target int32, name corev1.ResourceName, container string) (replicas int32,
	average int64, percent int32, err error) {
	g, err := r.groupPods(samples, name)
	if err != nil {
		return 0, 0, 0, err
	}

	for _, p := range r.pods {
		request, err := p.request(container, name, podRequests.On(r.c))
		if err != nil {
			return 0, 0, 0, err
		}
		for _, list := range [][]sample{g.used, g.unready, g.missing} {
			if i, found := findSample(list, p.Name); found {
				list[i].request, list[i].matched = request, true
			}
		}
	}

	measure := func(samples []sample) (u usage, err error) {
		sum, requests, n := int64(0), int64(0), int64(0)
		for i := range samples {
			if s := &samples[i]; s.matched {
				sum, requests, n = sum+s.value, requests+s.request, n+1
			}
		}
		if requests == 0 {
			return u, sdk.Errors("no metrics returned matched known pods")
		}
		u.percent, u.average = int32(sum*100/requests), sum/n
		u.ratio = float64(u.percent) / float64(target)
		return u, nil
	}

	replicas, u, err := r.replicasByPods(g, measure, func(s *sample) int64 {
		return s.request * int64(max(100,
			target)) / 100
	})
	return replicas, u.average, u.percent, err
}

// findSample finds a pod's sample among those that are in the order of their pods.
func findSample(samples []sample, pod string) (int, bool) {
	return slices.BinarySearchFunc(samples, pod, func(s sample, pod string) int { return strings.Compare(s.pod, pod) })
}

// replicasByPods computes replicas from what pods use. Of a pod that nothing is known of it is assumed what speaks most
// against a change: that it uses nothing when there should be more replicas, all that it may when there should be
// fewer. A pod that isn't ready yet is going to take its share. If that turns the direction, nothing is done.
func (r *run) replicasByPods(g groups, measure func([]sample) (usage, error), full func(*sample) int64) (int32, usage,
	error) {
	current := r.target.Spec.Replicas
	u, err := measure(g.used)
	if err != nil {
		return 0, u, err
	}

	up, down := u.ratio > 1, u.ratio < 1
	growing := up && len(g.unready) > 0
	if !growing && len(g.missing) == 0 {
		if r.tolerance.includes(u.ratio) {
			return current, u, nil
		}
		return ceilReplicas(u.ratio * float64(g.ready)), u, nil
	}

	all := g.used
	if up || down {
		for _, s := range g.missing {
			if down {
				s.value = full(&s)
			}
			all = append(all, s)
		}
	}

	if growing {
		all = append(all, g.unready...)
	}
	again, err := measure(all)
	if err != nil {
		return 0, u, err
	}
	if r.tolerance.includes(again.ratio) || down && again.ratio > 1 || up && again.ratio < 1 {
		return current, u, nil
	}

	replicas := ceilReplicas(again.ratio * float64(len(all)))
	if again.ratio < 1 && replicas > current || again.ratio > 1 && replicas < current {
		return current, u, nil
	}
	return replicas, u, nil
}

// groups are the target's pods by what their samples are worth.
type groups struct {
	used             []sample // that count, those of pods among them that aren't the target's
	unready, missing []sample // of pods that aren't ready to be measured, and that there is no sample of; of no value
	ready            int      // pods with a sample that counts
}

// groupPods sorts the pods. Those on their way out count for nothing.
func (r *run) groupPods(samples []sample, name corev1.ResourceName) (g groups, err error) {
	if len(r.pods) == 0 {
		return g, sdk.Errors("no pods returned by selector while calculating replica count")
	}

	dropped := make([]bool, len(samples))
	for _, p := range r.ended {
		if i, found := findSample(samples, p.Name); found {
			dropped[i] = true
		}
	}

	for _, p := range r.pods {
		i, found := findSample(samples, p.Name)
		switch {
		case p.Deleting():
		case p.Status.Phase == corev1.PodPending:
			g.unready = append(g.unready, sample{pod: p.Name})
		case !found:
			g.missing = append(g.missing, sample{pod: p.Name})
		case name == corev1.ResourceCPU && r.starting(p, &samples[i]):
			g.unready = append(g.unready, sample{pod: p.Name})
		default:
			g.ready++
			continue
		}
		if found {
			dropped[i] = true
		}
	}

	for i := range samples {
		if !dropped[i] {
			g.used = append(g.used, samples[i])
		}
	}

	if len(g.used) == 0 {
		return g, sdk.Errors("did not receive metrics for targeted pods (pods might be unready)")
	}
	return g, nil
}

// starting reports whether what the pod uses of CPU is what its start needs: it isn't ready or hasn't been for the
// whole of the sample's window, in the time that it may take to initialize; later, that it has never been ready.
func (r *run) starting(p *Pod, s *sample) bool {
	ready, start := p.readyCondition(), p.Status.StartTime
	if ready == nil || start == nil {
		return true
	}
	unready := ready.Status == string(corev1.ConditionFalse)
	if start.Add(periodSetting(r.c, cpuInitialization)).After(r.c.Now()) {
		return unready || s.at.Before(ready.LastTransitionTime.Add(s.window))
	}
	return unready && start.Add(periodSetting(r.c, readinessDelay)).After(ready.LastTransitionTime)
}

// byRatio computes replicas from how much more there is of something than there should be: as many times the pods that
// are ready, or, of a target without replicas, one each time.
func (r *run) byRatio(ratio float64) (int32, error) {
	current := r.target.Spec.Replicas
	switch {
	case current == 0:
		return ceilReplicas(ratio), nil
	case r.tolerance.includes(ratio):
		return current, nil
	case len(r.pods) == 0:
		return 0, sdk.Errors("unable to calculate ready pods: no pods returned by selector while calculating replica count")
	}
	ready := 0
	for _, p := range r.pods {
		if c := p.readyCondition(); p.Status.Phase == corev1.PodRunning && c != nil &&
			c.Status == string(corev1.ConditionTrue) {
			ready++
		}
	}
	return ceilReplicas(ratio * float64(ready)), nil
}

// byAverage computes replicas from how much of something there should be for each, and returns how much there is. While
// a roll-out lasts there are more replicas than the spec says: where both numbers are within the tolerance the spec
// keeps its own, and a surplus isn't made its own.
func (r *run) byAverage(value, target int64) (replicas int32, average int64) {
	within := func(replicas int32) bool {
		return r.tolerance.includes(float64(value) / (float64(target) * float64(replicas)))
	}

	wanted, there := ceilReplicas(float64(value)/float64(target)), r.target.Status.Replicas
	switch replicas = r.target.Spec.Replicas; {
	case !within(there):
		replicas = wanted
	case !within(replicas):
		replicas = min(wanted, there)
	}

	each := float64(value) / float64(there)
	if each = math.Ceil(each); each >= math.MaxInt64 || float64(value) >= math.MaxInt64 {
		return replicas, math.MaxInt64
	}
	if each != each { // nothing for nobody
		return replicas, 0
	}
	return replicas, int64(each)
}

// ceilReplicas returns the smallest number of replicas that is no less.
func ceilReplicas(n float64) int32 {
	switch n = math.Ceil(n); {
	case n >= math.MaxInt32:
		return math.MaxInt32
	case n > math.MinInt32:
		return int32(n)
	}
	return math.MinInt32
}
