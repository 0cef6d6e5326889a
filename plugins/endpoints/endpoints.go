// Package endpoints keeps the Endpoints of a Service as its pods are.
//
// It finds a Service's pods by its selector and writes the addresses and ports of those that are ready, and of those
// that aren't, in the canonical order of Endpoints. More than 1,000 addresses are cut to that number, and an annotation
// says so. Services without a selector are left alone: somebody else writes their Endpoints.
package endpoints

import (
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/plugins/shared/endpoint"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

const (
	managedBy = "endpoints.kubernetes.io/managed-by"
	manager   = "endpoint-controller"
	truncated = "truncated"
	leader    = "metadata.annotations[control-plane.alpha.kubernetes.io/leader]"
)

var (
	services = sdk.Key(corev1.Services).Fields(endpoint.ServiceFields...)
	pods     = sdk.Select(endpoint.Pods, sdk.KeyNamespace(), sdk.SelectedBy(services, "spec.selector")).
			Fields(endpoint.PodFields...).Quiet(endpoint.QuietFields...)
	ready = sdk.Select(endpoint.Pods, sdk.KeyNamespace(), sdk.SelectedBy(services, "spec.selector"), endpoint.IsReady()).
		Named("ready pods").Counted(1 << 30)
	// current is there before and after its service, too. Whoever changes it knows what they do.
	current = sdk.Select(corev1.EndpointsResource, sdk.KeyNamespace(), sdk.KeyName("metadata.name")).
		Fields("metadata.labels", "metadata.annotations["+corev1.EndpointsLastChangeTriggerTime+"]",
			"metadata.annotations["+corev1.EndpointsOverCapacity+"]", "subsets").
		QuietOn(abi.QuietStart, abi.QuietAdd, abi.QuietUpdate)
	// leftovers may have lost their services while nobody looked. Those that leaders were elected by never had one.
	leftovers = sdk.Select(corev1.EndpointsResource, sdk.KeyNamespace(), sdk.KeyName("metadata.name"),
		sdk.Not(sdk.Exists(leader))).
		Named("leftovers").Counted(1).QuietOn(abi.QuietAdd, abi.QuietUpdate, abi.QuietDelete)

	batchPeriod = &sdk.Setting{Name: "endpoint-updates-batch-period", Default: "0",
		Description: "How long changes of pods are collected before they are written."}
)

// Plugin is the endpoints module (pkg/controller/endpoint).
var Plugin = &sdk.Plugin{
	Name:        "endpoints",
	Version:     "1.0.0",
	Description: "Keeps the Endpoints of a Service as its pods are.",
	Settings:    []*sdk.Setting{batchPeriod},
	Check: func(s *sdk.Settings) error {
		if _, err := time.ParseDuration(batchPeriod.In(s)); err != nil {
			return sdk.Errors("endpoint-updates-batch-period: ", batchPeriod.In(s), " is no time such as 500ms or 1m30s")
		}
		return nil
	},
	Controllers: []*sdk.Controller{{
		Name:           "endpoints-controller",
		Alias:          "endpoint",
		Queue:          "endpoint",
		ServiceAccount: "endpoint-controller",
		EventSource:    "endpoint-controller",
		Reads:          sdk.Views{services, pods, ready, current, leftovers},
		Writes:         sdk.Writes{corev1.EndpointsResource.Verbs("create", "update", "delete")},
		Workers:        5,
		Backoff:        abi.Backoff{Retries: 15},
		Pace:           endpoint.Pace,
		State:          true,
		Sync:           sync,
	}},
}

// sync makes the Endpoints say what the service's pods are, or deletes those of a service that is gone.
func sync(c *sdk.Call) error {
	service, ok := services.Get(c)
	have, exists := current.Get(c)
	switch {
	case !ok && exists:
		return c.Delete(have, sdk.Tolerate(abi.TolerateNotFound))
	case !ok || !endpoint.Selected(service):
		return nil
	}

	period, _ := time.ParseDuration(batchPeriod.Get(c))
	state, marked, wait := endpoint.Batch(c, service, period)
	if wait {
		return nil
	}

	trigger, memory := endpoint.TriggerTime(state, service, pods.List(c))
	if marked || len(state) == 0 || &memory[0] != &state[0] {
		c.SetState(memory)
	}

	subsets := packSubsets(c, service)
	over := truncate(subsets)
	if exists && labelled(have.Labels, service.Labels) && annotated(have.Annotations, over) &&
		sameSubsets(service, have.Subsets, subsets) {
		return nil
	}

	want := &corev1.Endpoints{}
	if exists {
		*want = *have
	}

	want.Namespace, want.Name, want.Subsets = service.Namespace, service.Name, written(service, subsets)
	want.Labels = endpointsLabels(service)
	want.Annotations = annotations(want.Annotations, trigger, over)
	if exists {
		return performWrite(c, want, sdk.Update(want), "FailedToUpdateEndpoint", "Failed to update endpoint ")
	}
	return performWrite(c, want, sdk.Create(want, sdk.Tolerate(abi.TolerateNamespaceTerminating)),
		"FailedToCreateEndpoint",
		"Failed to create endpoint for service ")
}

// performWrite performs the write and reports its failure.
func performWrite(c *sdk.Call, o *corev1.Endpoints, e sdk.Effect, reason, message string) error {
	err := c.Do(e)
	if err != nil {
		c.Event(o, corev1.EventTypeWarning, reason, message+c.Namespace()+"/"+c.Name()+": "+err.Error())
	}
	return err
}

// endpointsLabels returns the service's, with two of our own.
func endpointsLabels(s *corev1.Service) metav1.StringMap {
	l := s.Labels.Clone()
	l.Delete(corev1.IsHeadlessService)
	if endpoint.Headless(s) {
		l.Set(corev1.IsHeadlessService, "")
	}
	l.Set(managedBy, manager)
	return l
}

// labelled reports whether the labels are those of the service and say whose the Endpoints are. Whether they say
// headless doesn't matter by itself.
func labelled(have, service metav1.StringMap) bool {
	return have.Get(managedBy) == manager && labelsWithin(have, service) && labelsWithin(service, have)
}

func labelsWithin(a, b metav1.StringMap) bool {
	for i := range a {
		if k := a[i].Key; k == corev1.IsHeadlessService || k == managedBy {
			continue
		}
		if v, ok := b.Lookup(a[i].Key); !ok || v != a[i].Value {
			return false
		}
	}
	return true
}

// annotations are with the time of the change and with the word that there were too many addresses, or without.
func annotations(have metav1.StringMap, trigger metav1.Time, over bool) metav1.StringMap {
	a := have.Clone()
	a.Delete(corev1.EndpointsLastChangeTriggerTime)
	if !trigger.IsZero() {
		a.Set(corev1.EndpointsLastChangeTriggerTime, trigger.String())
	}
	a.Delete(corev1.EndpointsOverCapacity)
	if over {
		a.Set(corev1.EndpointsOverCapacity, truncated)
	}
	return a
}

// annotated reports whether the annotations say so if there were too many addresses.
func annotated(have metav1.StringMap, over bool) bool {
	v, ok := have.Lookup(corev1.EndpointsOverCapacity)
	return ok == over && (!ok || v == truncated)
}
