// Package endpointslice keeps the EndpointSlices of a Service as its pods are.
//
// It finds a Service's pods by its selector and spreads their addresses over slices of at most 100, for each family of
// addresses and set of ports. A change goes to as few slices as it can: those that have to change are filled up first.
// Hints say which zones should use an address, for topology-aware routing and traffic distribution. Without any address
// there is one empty slice.
package endpointslice

import (
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/plugins/shared/endpoint"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	discoveryv1 "github.com/windlass-dev/windlass/sdk/api/discovery/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// manager is what the slices that are this controller's say in their label managed-by.
const manager = "endpointslice-controller.k8s.io"

const (
	zoneLabel   = "metadata.labels[" + corev1.LabelTopologyZone + "]"
	serviceName = "metadata.labels[" + discoveryv1.LabelServiceName + "]"
	managedBy   = "metadata.labels[" + discoveryv1.LabelManagedBy + "]"
	triggerTime = "metadata.annotations[" + corev1.EndpointsLastChangeTriggerTime + "]"
	hintsMode   = "metadata.annotations[" + corev1.AnnotationTopologyMode + "]"
	hintsOld    = "metadata.annotations[" + corev1.DeprecatedAnnotationTopologyAwareHints + "]"
)

var (
	services = sdk.Key(corev1.Services).Fields(endpoint.ServiceFields...)
	pods     = sdk.Select(endpoint.Pods, sdk.KeyNamespace(), sdk.SelectedBy(services, "spec.selector")).
			Fields(endpoint.PodFields...).Quiet(endpoint.QuietFields...)
	ready = sdk.Select(endpoint.Pods, sdk.KeyNamespace(), sdk.SelectedBy(services, "spec.selector"), endpoint.IsReady()).
		Named("ready pods").Counted(1 << 30)
	nodes = sdk.Select(resource.Of[node]{Info: nodeInfo}, sdk.Join("metadata.name", pods, "spec.nodeName")).
		Fields(zoneLabel).Quiet(capacity...).
		QuietOn(abi.QuietDelete) // the node's pods follow it
	slices = sdk.Select(discoveryv1.EndpointSlices, sdk.KeyNamespace(), sdk.KeyName(serviceName),
		sdk.In(managedBy, manager)).
		Fields("metadata.deletionTimestamp", "metadata.labels", triggerTime,
			"metadata.ownerReferences.uid", "metadata.ownerReferences.kind", "metadata.ownerReferences.apiVersion",
			"addressType", "endpoints", "ports").
		Quiet(triggerTime).QuietOn(abi.QuietOwn, abi.QuietStart).Batch(time.Second)

	// capacity is what hints are shared out by; only services with the annotation look at all nodes, and the other
	// controller says when.
	capacity = []string{"metadata.labels[" + controlPlane + "]", "metadata.labels[" + master + "]",
		"status.allocatable[" + string(corev1.ResourceCPU) + "]",
		"status.conditions.type", "status.conditions.status"}
	cluster = sdk.Select(resource.Of[node]{Info: nodeInfo}).Named("cluster").Lazy().
		Fields(zoneLabel).Fields(capacity...).Quiet()

	maxEndpoints = &sdk.Setting{Name: "max-endpoints-per-slice", Default: "100",
		Description: "The most endpoints in a slice, at most 1000."}
	batchPeriod = &sdk.Setting{Name: "endpointslice-updates-batch-period", Default: "0",
		Description: "How long changes of pods are collected before they are written."}
)

// Plugin is the endpointslice module (pkg/controller/endpointslice, k8s.io/endpointslice).
var Plugin = &sdk.Plugin{
	Name:        "endpointslice",
	Version:     "1.0.0",
	Description: "Keeps the EndpointSlices of a Service as its pods are.",
	Settings:    []*sdk.Setting{maxEndpoints, batchPeriod},
	Metrics:     []*sdk.Metric{added, removed, changes, changed, syncs, desired, actual, ideal, spread},
	Check: func(s *sdk.Settings) error {
		if _, ok := parseNumber(maxEndpoints.In(s), 1000); !ok {
			return sdk.Errors("max-endpoints-per-slice: ", maxEndpoints.In(s), " is not a number from 1 to 1000")
		}
		if _, err := time.ParseDuration(batchPeriod.In(s)); err != nil {
			return sdk.Errors("endpointslice-updates-batch-period: ", batchPeriod.In(s), " is no time such as 500ms or 1m30s")
		}
		return nil
	},
	Controllers: []*sdk.Controller{{
		Name:           "endpointslice-controller",
		Alias:          "endpointslice",
		Queue:          "endpoint_slice",
		ServiceAccount: "endpointslice-controller",
		EventSource:    "endpoint-slice-controller",
		Reads:          sdk.Views{services, pods, ready, nodes, slices, cluster},
		Writes: sdk.Writes{discoveryv1.EndpointSlices.Verbs("create", "update", "delete"),
			corev1.Services.Sub("finalizers", "update")},
		Workers: 5,
		Backoff: abi.Backoff{Base: int64(time.Second), Max: int64(1000 * time.Second), Retries: 15},
		Pace:    endpoint.SlicesPace,
		State:   true,
		Sync:    sync,
	}, {
		Name:           "endpointslice-topology",
		PartOf:         "endpointslice-controller",
		ServiceAccount: "endpointslice-controller",
		Reads:          sdk.Views{zoned, sharing, shared},
		By:             sdk.KeyedBy{Single: true},
		Workers:        1,
		Sync:           syncZones,
	}},
}

// sync brings the slices of each of the service's address types up to date, whether or not that works for the others,
// then deletes those of all other types.
func sync(c *sdk.Call) error {
	service, ok := services.Get(c)
	if !ok || !endpoint.Selected(service) {
		totals{}.recordMetrics(c, "")
		syncs.Add(c, 1, "success")
		return nil
	}
	period, _ := time.ParseDuration(batchPeriod.Get(c))
	state, marked, wait := endpoint.Batch(c, service, period)
	if wait {
		return nil
	}
	m := remember(state)
	r := &reconciler{call: c, service: service, labels: sliceLabels(service), hinted: m.hinted}
	r.max, _ = parseNumber(maxEndpoints.Get(c), 1000)
	var memory []byte
	r.trigger, memory = endpoint.TriggerTime(m.pods, service, pods.List(c))
	r.candidates, r.ports = candidates(c, service)

	types := addressTypes(service)
	existing, others := splitByType(slices.List(c), types)
	if len(others) > 0 {
		r.hinted = false
	}
	for i, t := range types {
		r.reconcile(t, existing[i])
	}
	for _, s := range others {
		r.deleteSlice(s)
	}
	r.totals.recordMetrics(c, r.distribution())
	if marked || m.differs(r.hinted, memory) {
		c.SetState(stateOf(r.hinted, memory))
	}
	err := r.errors.aggregate()
	if err != nil {
		c.Event(service, corev1.EventTypeWarning, "FailedToUpdateEndpointSlices",
			"Error updating Endpoint Slices for Service "+service.Namespace+"/"+service.Name+": "+err.Error())
		syncs.Add(c, 1, "error")
		return err
	}
	syncs.Add(c, 1, "success")
	return nil
}

// addressTypes are those of the service's families. A service of an old API server, which has none, is of the family of
// its address, or of both.
func addressTypes(s *corev1.Service) []discoveryv1.AddressType {
	var types []discoveryv1.AddressType
	for _, f := range s.Spec.IPFamilies {
		if t := discoveryv1.AddressType(f); (f == corev1.IPv4Protocol || f == corev1.IPv6Protocol) &&
			(len(types) == 0 || types[0] != t) {
			types = append(types, t)
		}
	}
	switch {
	case len(types) > 0:
		return types
	case endpoint.Headless(s):
		return []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6}
	case endpoint.IsIPv6(endpoint.Canonical(s.Spec.ClusterIP)):
		return []discoveryv1.AddressType{discoveryv1.AddressTypeIPv6}
	}
	return []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4}
}

// splitByType splits the slices by their types, without those that are on their way out.
func splitByType(all []*discoveryv1.EndpointSlice,
	types []discoveryv1.AddressType) (existing [][]*discoveryv1.EndpointSlice,
	others []*discoveryv1.EndpointSlice) {
	existing = make([][]*discoveryv1.EndpointSlice, len(types))
next:
	for _, s := range all {
		if s.Deleting() {
			continue
		}
		for i, t := range types {
			if s.AddressType == t {
				existing[i] = append(existing[i], s)
				continue next
			}
		}
		others = append(others, s)
	}
	return existing, others
}
