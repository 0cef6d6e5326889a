package horizontalpodautoscaler

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	autoscalingv2 "github.com/windlass-dev/windlass/sdk/api/autoscaling/v2"
)

// The values of the metrics' labels.
const (
	none      = "none"
	scaleUp   = "scale_up"
	scaleDown = "scale_down"
	internal  = "internal"
	inSpec    = "spec"
)

// What upstream's texts say of the labels.
const (
	ofAction = "The label 'action' should be either 'scale_down', 'scale_up', or 'none'. "
	ofError  = "'error' should be either 'spec', 'internal', or 'none'. "
	ofBoth   = ofAction + "Also, the label " + ofError
	ofFirst  = "Note that if both spec and internal errors happen during a reconciliation, " +
		"the first one to occur is reported in `error` label."
	ofType = "The label 'metric_type' corresponds to HPA.spec.metrics[*].type"
)

// powers are upstream's upper bounds, in seconds.
var powers = []float64{0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192,
	16.384}

var (
	actions = abi.Label{Name: "action", Values: []string{scaleDown, scaleUp, none}}
	errors  = abi.Label{Name: "error", Values: []string{inSpec, internal, none}}
	types   = abi.Label{Name: "metric_type", Values: []string{string(autoscalingv2.ObjectMetricSourceType),
		string(autoscalingv2.PodsMetricSourceType),
		string(autoscalingv2.ResourceMetricSourceType), string(autoscalingv2.ContainerResourceMetricSourceType),
		string(autoscalingv2.ExternalMetricSourceType)}}

	reconciliations = sdk.Counter("horizontal_pod_autoscaler_controller_reconciliations_total",
		"[BETA] Number of reconciliations of HPA controller. "+ofBoth+ofFirst, actions, errors)
	reconciliationTimes = sdk.Histogram("horizontal_pod_autoscaler_controller_reconciliation_duration_seconds",
		"[BETA] The time(seconds) that the HPA controller takes to reconcile once. "+ofBoth+ofFirst, powers, actions, errors)
	computations = sdk.Counter("horizontal_pod_autoscaler_controller_metric_computation_total",
		"[BETA] Number of metric computations. "+ofBoth+ofType, actions, errors, types)
	computationTimes = sdk.Histogram("horizontal_pod_autoscaler_controller_metric_computation_duration_seconds",
		"[BETA] The time(seconds) that the HPA controller takes to calculate one metric. "+ofAction+"The label "+
			ofError+ofType,
		powers, actions, errors, types)
	desiredReplicas = sdk.Gauge("horizontal_pod_autoscaler_controller_desired_replicas",
		"[ALPHA] Current desired replica count for HPA objects.",
		abi.Label{Name: "namespace", From: abi.LabelKeyNamespace}, abi.Label{Name: "hpa_name", From: abi.LabelKeyName})
	stale = sdk.Stale("horizontal_pod_autoscaler_controller_stale_sync_skips_total",
		"[ALPHA] Total number of HPA syncs skipped due to a stale watch cache.")
	number = sdk.Sum("horizontal_pod_autoscaler_controller_num_horizontal_pod_autoscalers",
		"[ALPHA] Current number of controlled HPA objects.")
)

// failure is an error that tells whether the autoscaler's spec is to blame.
type failure struct {
	text string
	spec bool
}

func (f *failure) Error() string { return f.text }

func wrapError(before string, err error) error {
	return &failure{before + err.Error(), isSpecError(err)}
}

func isSpecError(err error) bool {
	f, ok := err.(*failure)
	return ok && f.spec
}

func errorLabel(err error) string {
	switch {
	case err == nil:
		return none
	case isSpecError(err):
		return inSpec
	}
	return internal
}

// observe counts the computation of a metric, which has begun then.
func (r *run) observe(m *autoscalingv2.MetricSpec, then sdk.Moment, p proposal, err error) {
	action := none
	switch {
	case err != nil:
	case p.replicas > r.hpa.Status.CurrentReplicas:
		action = scaleUp
	case p.replicas < r.hpa.Status.CurrentReplicas:
		action = scaleDown
	}
	computations.Add(r.c, 1, action, errorLabel(err), string(m.Type))
	computationTimes.Since(r.c, then, action, errorLabel(err), string(m.Type))
}
