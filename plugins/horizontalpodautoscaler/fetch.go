package horizontalpodautoscaler

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/plugins/shared/metrics"
	"github.com/windlass-dev/windlass/sdk"
	autoscalingv2 "github.com/windlass-dev/windlass/sdk/api/autoscaling/v2"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/labels"
)

// sample is what is known, or assumed, of one pod, in thousandths.
type sample struct {
	pod     string
	value   int64
	at      wire.Time
	window  time.Duration
	request int64
	matched bool // the pod is one of the target's, so that its request is known
}

// ofResource asks what each pod uses of a resource, or one container of each. A pod whose containers aren't all there
// has no sample.
func (r *run) ofResource(name corev1.ResourceName, container string) ([]sample, error) {
	const before = "unable to fetch metrics from resource metrics API: "
	list, err := metrics.Pods(r.c, r.hpa.Namespace, r.selector)
	switch {
	case err != nil:
		return nil, wrapError("unable to get metrics for resource "+string(name)+": "+before, err)
	case len(list) == 0:
		return nil, sdk.Errors("unable to get metrics for resource ", string(name),
			": no metrics returned from resource metrics API")
	}

	var samples []sample
	for i := range list {
		m := &list[i]
		s := sample{pod: m.Metadata.Name, at: m.Timestamp, window: m.Duration()}
		counted, whole := false, true
		for j := range m.Containers {
			k := &m.Containers[j]
			if container != "" && k.Name != container {
				continue
			}
			used, ok := k.Usage.Lookup(name)
			s.value += used.MilliValue()
			counted, whole = true, whole && ok
		}
		if counted && whole {
			samples = append(samples, s)
		}
	}

	return sortByPod(samples), nil
}

// fetchPodMetric asks for a metric of each pod.
func (r *run) fetchPodMetric(m *autoscalingv2.PodsMetricSource) ([]sample, error) {
	list, err := metrics.OfPods(r.c, r.hpa.Namespace, r.selector, m.Metric.Name, labels.Format(m.Metric.Selector))
	before := "unable to get metric " + m.Metric.Name + ": "
	switch {
	case err != nil:
		return nil, wrapError(before+"unable to fetch metrics from custom metrics API: ", err)
	case len(list) == 0:
		return nil, sdk.Errors(before, "no metrics returned from custom metrics API")
	}
	samples := make([]sample, len(list))
	for i := range list {
		samples[i] = sample{pod: list[i].DescribedObject.Name, value: list[i].Value.MilliValue(), at: list[i].Timestamp,
			window: list[i].Duration()}
	}
	return sortByPod(samples), nil
}

// sortByPod returns the samples by pod, one each: where there are more, the last.
func sortByPod(samples []sample) []sample {
	slices.SortStableFunc(samples, func(a, b sample) int { return strings.Compare(a.pod, b.pod) })
	n := 0
	for i := range samples {
		if i+1 < len(samples) && samples[i+1].pod == samples[i].pod {
			continue
		}
		samples[n] = samples[i]
		n++
	}
	return samples[:n]
}

// ofObject asks for a metric of an object in the autoscaler's namespace, or of the namespace itself, whatever its name
// is said to be.
func (r *run) ofObject(m *autoscalingv2.ObjectMetricSource) (int64, error) {
	o, selector := &m.DescribedObject, labels.Format(m.Metric.Selector)
	group, _, named := strings.Cut(o.APIVersion, "/")
	if !named {
		group = ""
	}
	var v *metrics.MetricValue
	var err error
	if o.Kind == "Namespace" && group == "" {
		v, err = metrics.OfNamespace(r.c, r.hpa.Namespace, m.Metric.Name, selector)
	} else {
		var name string
		if name, err = qualified(r.c, o, group); err == nil {
			v, err = metrics.OfObject(r.c, r.hpa.Namespace, name, o.Name, m.Metric.Name, selector)
		}
	}
	if err != nil {
		return 0, wrapError("unable to get metric "+m.Metric.Name+" on "+o.Kind+" "+r.hpa.Namespace+"/"+o.Name+
			": unable to fetch metrics from custom metrics API: ", err)
	}
	return v.Value.MilliValue(), nil
}

// qualified is the name of an object's resource with its group.
func qualified(c *sdk.Call, o *autoscalingv2.CrossVersionObjectReference, group string) (string, error) {
	found, err := resourceOf(c, o.APIVersion, o.Kind)
	if group != "" {
		group = "." + group
	}
	if err != nil {
		return "", wrapError("unable to map kind "+o.Kind+group+" to resource: ", err)
	}
	return found.Resource[strings.LastIndexByte(found.Resource, '/')+1:] + group, nil
}

// ofNothing asks for the series of a metric that belongs to no object.
func (r *run) ofNothing(m *autoscalingv2.ExternalMetricSource) ([]metrics.MetricValue, error) {
	if err := labels.Check(m.Metric.Selector); err != nil {
		return nil, err
	}
	before := "unable to get external metric " + r.hpa.Namespace + "/" + m.Metric.Name + "/" + printed(m.Metric.Selector) +
		": "
	list, err := metrics.External(r.c, r.hpa.Namespace, m.Metric.Name, labels.Format(m.Metric.Selector))
	switch {
	case err != nil:
		return nil, wrapError(before+"unable to fetch metrics from external metrics API: ", err)
	case len(list) == 0:
		return nil, sdk.Errors(before, "no metrics returned from external metrics API")
	}
	return list, nil
}

// sumValues sums up series, as far as an int64 goes.
func sumValues(values []metrics.MetricValue) (sum int64) {
	for i := range values {
		v := values[i].Value.MilliValue()
		if v > 0 && sum > math.MaxInt64-v {
			return math.MaxInt64
		}
		sum += v
	}
	return sum
}
