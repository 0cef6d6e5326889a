package horizontalpodautoscaler

import (
	"strconv"

	"github.com/windlass-dev/windlass/abi/wire"
	autoscalingv2 "github.com/windlass-dev/windlass/sdk/api/autoscaling/v2"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/labels"
)

// proposal is how many replicas a metric asks for.
type proposal struct {
	replicas int32
	metric   string // what messages call it
	status   autoscalingv2.MetricStatus
}

// propose computes replicas from each metric and takes the most. Where metrics are missing the others decide, but not
// that there should be fewer replicas.
func (r *run) propose() (most proposal, statuses []autoscalingv2.MetricStatus, err error) {
	failed := proposal{replicas: -1}
	if err := r.fetchPods(); err != nil {
		return failed, nil, err
	}

	specs := r.hpa.Spec.Metrics
	statuses = make([]autoscalingv2.MetricStatus, len(specs))
	missing, reason, message := 0, "", ""
	for i := range specs {
		then := r.c.Moment()
		p, f := r.compute(&specs[i])
		if f != nil {
			r.observe(&specs[i], then, p, f.err)
			r.addEvent(corev1.EventTypeWarning, f.reason, f.cause)
			if missing++; missing == 1 {
				err, reason, message = f.err, f.reason, "the HPA was unable to compute the replica count: "+f.cause
			}
			continue
		}
		r.observe(&specs[i], then, p, nil)
		statuses[i] = p.status
		if most.replicas == 0 || p.replicas > most.replicas {
			most = p
		}
	}

	if err != nil {
		err = wrapError("invalid metrics ("+strconv.Itoa(missing)+" invalid out of "+strconv.Itoa(len(specs))+
			"), first error is: ", err)
	}
	if missing == len(specs) || missing > 0 && most.replicas < r.target.Spec.Replicas {
		if missing == 0 {
			return failed, statuses, &failure{text: "there are no metrics", spec: true}
		}
		r.setCondition(autoscalingv2.ScalingActive, false, reason, message)
		return failed, statuses, err
	}

	r.setCondition(autoscalingv2.ScalingActive, true, "ValidMetricFound",
		"the HPA was able to successfully calculate a replica count from "+most.metric)
	return most, statuses, err
}

// missed is why a metric has no proposal: the reason and the cause are told of the autoscaler, the error of the whole
// sync.
type missed struct {
	reason, cause string
	err           error
}

// newMissed makes a missed of a cause and what comes before it in the error.
func newMissed(reason, before string, cause error) *missed {
	return &missed{reason, cause.Error(), wrapError(before, cause)}
}

func (r *run) compute(m *autoscalingv2.MetricSpec) (proposal, *missed) {
	switch {
	case m.Type == autoscalingv2.ObjectMetricSourceType && m.Object != nil:
		return r.computeObject(m.Object)
	case m.Type == autoscalingv2.PodsMetricSourceType && m.Pods != nil && m.Pods.Target.AverageValue != nil:
		return r.computePods(m.Pods)
	case m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil:
		return r.computeResource(m.Resource)
	case m.Type == autoscalingv2.ContainerResourceMetricSourceType && m.ContainerResource != nil:
		return r.computeContainer(m.ContainerResource)
	case m.Type == autoscalingv2.ExternalMetricSourceType && m.External != nil:
		return r.computeExternal(m.External)
	}
	return proposal{}, newMissed("InvalidMetricSourceType", "",
		&failure{text: "unknown metric source type " + strconv.Quote(string(m.Type)), spec: true})
}

func (r *run) computeObject(m *autoscalingv2.ObjectMetricSource) (p proposal, f *missed) {
	const reason, before = "FailedGetObjectMetric", "failed to get object metric value: "
	p.status = autoscalingv2.MetricStatus{Type: autoscalingv2.ObjectMetricSourceType,
		Object: &autoscalingv2.ObjectMetricStatus{DescribedObject: m.DescribedObject, Metric: m.Metric}}
	now := &p.status.Object.Current
	switch t := &m.Target; {
	case labels.Check(m.Metric.Selector) != nil:
		return p, newMissed(reason, before, labels.Check(m.Metric.Selector))
	case t.Type == autoscalingv2.ValueMetricType && t.Value != nil:
		value, err := r.ofObject(m)
		if err == nil {
			p.replicas, err = r.byRatio(float64(value) / float64(t.Value.MilliValue()))
		}
		if err != nil {
			return p, newMissed(reason, before, err)
		}
		p.metric, now.Value = m.DescribedObject.Kind+" metric "+m.Metric.Name, milliQuantity(value)
	case t.Type == autoscalingv2.AverageValueMetricType && t.AverageValue != nil:
		value, err := r.ofObject(m)
		if err != nil {
			return p, newMissed(reason, before+"failed to get "+m.Metric.Name+" object metric: ", err)
		}
		var average int64
		p.replicas, average = r.byAverage(value, t.AverageValue.MilliValue())
		// "external" is upstream's word
		p.metric, now.AverageValue = "external metric "+m.Metric.Name+"("+printed(m.Metric.Selector)+")",
			milliQuantity(average)
	default:
		return p, newMissed(reason, before,
			&failure{text: "invalid object metric source: neither a value target nor an average value target was set"})
	}

	return p, nil
}

func (r *run) computePods(m *autoscalingv2.PodsMetricSource) (p proposal, f *missed) {
	const reason, before = "FailedGetPodsMetric", "failed to get pods metric value: "
	if err := labels.Check(m.Metric.Selector); err != nil {
		return p, newMissed(reason, before, err)
	}
	samples, err := r.fetchPodMetric(m)
	if err != nil {
		return p, newMissed(reason, before, err)
	}
	replicas, average, err := r.byUsage(samples, m.Target.AverageValue.MilliValue(), "")
	if err != nil {
		return p, newMissed(reason, before, err)
	}
	return proposal{replicas, "pods metric " + m.Metric.Name,
		autoscalingv2.MetricStatus{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricStatus{
			Metric: m.Metric, Current: autoscalingv2.MetricValueStatus{AverageValue: milliQuantity(average)}}}}, nil
}

func (r *run) computeResource(m *autoscalingv2.ResourceMetricSource) (p proposal, f *missed) {
	replicas, metric, now, err := r.computeUsage(&m.Target, m.Name, "")
	if err != nil {
		return p, newMissed("FailedGetResourceMetric", "failed to get "+string(m.Name)+" resource metric value: ", err)
	}
	return proposal{replicas, metric,
		autoscalingv2.MetricStatus{Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricStatus{Name: m.Name, Current: now}}}, nil
}

func (r *run) computeContainer(m *autoscalingv2.ContainerResourceMetricSource) (p proposal, f *missed) {
	replicas, metric, now, err := r.computeUsage(&m.Target, m.Name, m.Container)
	if err != nil {
		return p, newMissed("FailedGetContainerResourceMetric", "failed to get "+m.Container+" container metric value: ", err)
	}
	return proposal{replicas, metric, autoscalingv2.MetricStatus{Type: autoscalingv2.ContainerResourceMetricSourceType,
			ContainerResource: &autoscalingv2.ContainerResourceMetricStatus{Name: m.Name, Container: m.Container,
				Current: now}}},
		nil
}

// computeUsage compares what the pods, or one container of each, use of a resource with an amount or with what they ask
// for.
func (r *run) computeUsage(t *autoscalingv2.MetricTarget, name corev1.ResourceName, container string) (replicas int32,
	metric string, now autoscalingv2.MetricValueStatus, err error) {
	if t.AverageValue == nil && t.AverageUtilization == nil {
		return 0, "", now, &failure{text: "invalid resource metric source: neither an average utilization target nor an " +
			"average value (usage) target was set"}
	}
	metric = string(name) + " resource"
	before := "failed to get " + string(name) + " usage: "
	if t.AverageValue == nil {
		before = "failed to get " + string(name) + " utilization: "
		if container != "" {
			metric = string(name) + " container resource"
		}
		metric += " utilization (percentage of request)"
	}

	samples, err := r.ofResource(name, container)
	if err != nil {
		return 0, "", now, wrapError(before, err)
	}

	var average int64
	if t.AverageValue != nil {
		replicas, average, err = r.byUsage(samples, t.AverageValue.MilliValue(), name)
	} else {
		var percent int32
		replicas, average, percent, err = r.byUtilization(samples, *t.AverageUtilization, name, container)
		now.AverageUtilization = &percent
	}

	if err != nil {
		return 0, "", now, wrapError(before, err)
	}
	now.AverageValue = milliQuantity(average)
	if name == corev1.ResourceMemory {
		now.AverageValue = bytesQuantity(average)
	}
	return replicas, metric, now, nil
}

func (r *run) computeExternal(m *autoscalingv2.ExternalMetricSource) (p proposal, f *missed) {
	const reason = "FailedGetExternalMetric"
	before := "failed to get " + m.Metric.Name + " external metric value: "
	if m.Target.AverageValue == nil && m.Target.Value == nil {
		return p, newMissed(reason, before,
			&failure{text: "invalid external metric source: neither a value target nor an average value target was set"})
	}

	within := "failed to get " + m.Metric.Name + " external metric: "
	if m.Target.AverageValue == nil {
		within = "failed to get external metric " + m.Metric.Name + ": "
	}
	values, err := r.ofNothing(m)
	if err != nil {
		return p, newMissed(reason, before+within, err)
	}

	value := sumValues(values)
	var now autoscalingv2.MetricValueStatus
	if m.Target.AverageValue != nil {
		var average int64
		p.replicas, average = r.byAverage(value, m.Target.AverageValue.MilliValue())
		now.AverageValue = milliQuantity(average)
	} else {
		if p.replicas, err = r.byRatio(float64(value) / float64(m.Target.Value.MilliValue())); err != nil {
			return p, newMissed(reason, before+within, err)
		}
		now.Value = milliQuantity(value)
	}

	p.metric = "external metric " + m.Metric.Name + "(" + printed(m.Metric.Selector) + ")"
	p.status = autoscalingv2.MetricStatus{Type: autoscalingv2.ExternalMetricSourceType,
		External: &autoscalingv2.ExternalMetricStatus{Metric: m.Metric, Current: now}}
	return p, nil
}

var suffixes = [...]string{"m", "", "k", "M", "G", "T", "P", "E"}

// milliQuantity returns an amount given in thousandths.
func milliQuantity(n int64) *wire.Quantity {
	i := 0
	for ; n != 0 && n%1000 == 0 && i < len(suffixes)-1; i++ {
		n /= 1000
	}
	if n == 0 {
		i = 1
	}
	return &wire.Quantity{Text: strconv.FormatInt(n, 10) + suffixes[i]}
}

// bytesQuantity returns an amount of memory given in thousandths, in powers of 1024 where that is exact.
func bytesQuantity(n int64) *wire.Quantity {
	whole := n / 1000
	if n%1000 != 0 || whole < 1024 || whole%1024 != 0 {
		return milliQuantity(n)
	}
	i := 0
	for ; whole%1024 == 0 && i < 6; i++ {
		whole /= 1024
	}
	return &wire.Quantity{Text: strconv.FormatInt(whole, 10) + [...]string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}[i]}
}
