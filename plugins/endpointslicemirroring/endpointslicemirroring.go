// Package endpointslicemirroring mirrors Endpoints that somebody else writes for a Service without selector into
// EndpointSlices.
//
// The Endpoints' subsets are repacked as the API server does it, and each family of addresses and set of ports gets one
// slice, with the labels and annotations of the Endpoints. Slices that are there already are changed before others are
// made. Endpoints with the label endpointslice.kubernetes.io/skip-mirror, of leader election, or of a Service that has
// a selector are left alone.
package endpointslicemirroring

import (
	"strconv"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	discoveryv1 "github.com/windlass-dev/windlass/sdk/api/discovery/v1"
	"github.com/windlass-dev/windlass/sdk/decimal"
)

// manager is what the slices that are this controller's say in their label managed-by.
const manager = "endpointslicemirroring-controller.k8s.io"

const (
	serviceName = "metadata.labels[" + discoveryv1.LabelServiceName + "]"
	managedBy   = "metadata.labels[" + discoveryv1.LabelManagedBy + "]"
	skipMirror  = "metadata.labels[" + discoveryv1.LabelSkipMirror + "]"
	leader      = "metadata.annotations[control-plane.alpha.kubernetes.io/leader]"
)

var (
	endpoints = sdk.Select(corev1.EndpointsResource, sdk.Not(sdk.In(skipMirror, "true")), sdk.Not(sdk.Exists(leader))).
			Fields("metadata.labels", "metadata.annotations", "metadata.deletionTimestamp", "subsets")
	// services with a selector have slices of the endpointslice controller's.
	services = sdk.Select(corev1.Services, sdk.KeyNamespace(), sdk.KeyName("metadata.name"),
		sdk.Not(sdk.Exists("spec.selector"))).Counted(1)
	mirrored = sdk.Select(discoveryv1.EndpointSlices, sdk.KeyNamespace(), sdk.KeyName(serviceName),
		sdk.In(managedBy, manager)).
		Fields("metadata.labels", "metadata.annotations", "metadata.ownerReferences", "addressType", "endpoints", "ports").
		QuietOn(abi.QuietOwn)

	maxEndpoints = &sdk.Setting{Name: "mirroring-max-endpoints-per-subset", Default: "1000",
		Description: "The most addresses of a subset that are mirrored, at most 1000."}
	batchPeriod = &sdk.Setting{Name: "mirroring-endpointslice-updates-batch-period", Default: "0",
		Description: "How long what others do to mirrored slices is collected before it is put right."}
)

// Plugin is the endpointslicemirroring module (pkg/controller/endpointslicemirroring).
var Plugin = &sdk.Plugin{
	Name:        "endpointslicemirroring",
	Version:     "1.0.0",
	Description: "Mirrors Endpoints that somebody else writes for a Service without selector into EndpointSlices.",
	Settings:    []*sdk.Setting{maxEndpoints, batchPeriod},
	Metrics:     []*sdk.Metric{added, updated, removed, skipped, took, desired, actual, ideal, changes},
	Check: func(s *sdk.Settings) error {
		if n, ok := decimal.Parse(maxEndpoints.In(s)); !ok || n < 1 || n > 1000 {
			return sdk.Errors(maxEndpoints.Name, ": ", maxEndpoints.In(s), " is not a number from 1 to 1000")
		}
		if _, err := time.ParseDuration(batchPeriod.In(s)); err != nil {
			return sdk.Errors(batchPeriod.Name, ": ", batchPeriod.In(s), " is not a time such as 500ms or 1m30s")
		}
		return nil
	},
	Controllers: []*sdk.Controller{{
		Name:           "endpointslice-mirroring-controller",
		Alias:          "endpointslicemirroring",
		Queue:          "endpoint_slice_mirroring",
		ServiceAccount: "endpointslicemirroring-controller",
		EventSource:    "endpoint-slice-mirroring-controller",
		Reads:          sdk.Views{endpoints, services, mirrored},
		Writes: sdk.Writes{discoveryv1.EndpointSlices.Verbs("create", "update", "delete"),
			corev1.EndpointsResource.Sub("finalizers", "update"), corev1.Services.Sub("finalizers", "update")},
		Workers: 5,
		Backoff: abi.Backoff{Base: int64(time.Second), Max: int64(100 * time.Second), Retries: 15},
		State:   true,
		Sync:    sync,
	}},
}

// sync brings the slices up to date that mirror the Endpoints, or deletes those of Endpoints that aren't mirrored (any
// more): they are gone or are to be skipped, or their service is gone or has a selector.
func sync(c *sdk.Call) (err error) {
	e, there := endpoints.Get(c)
	switch {
	case !there || services.Count(c) == 0:
		err = deleteAll(c)
	case collects(c, e):
		return nil
	default:
		err = mirror(c, e)
	}
	took.Took(c)
	return err
}

// deleteAll deletes all of a key's slices, whatever becomes of single ones.
func deleteAll(c *sdk.Call) error {
	totals{}.record(c)
	c.SetState(nil)
	all := mirrored.List(c)
	if len(all) == 0 {
		return nil
	}

	effects := make([]sdk.Effect, len(all))
	for i, s := range all {
		effects[i] = sdk.Delete(s, sdk.Always())
	}
	outcomes, err := c.DoAll(effects...)
	if err == nil {
		return nil
	}

	failed := 0
	for i := range outcomes {
		if outcomes[i].Code != abi.CodeOK {
			failed++
		}
	}
	return sdk.Errors("error(s) deleting ", strconv.Itoa(failed), "/", strconv.Itoa(len(all)), " EndpointSlices for ",
		c.Namespace(), "/", c.Name(), " Endpoints, including: ", err.Error())
}

// mirror brings the slices up to date.
func mirror(c *sdk.Call, e *corev1.Endpoints) error {
	most, _ := decimal.Parse(maxEndpoints.Get(c))
	groups, passed := group(repack(e.Subsets), int(most))
	passed.record(c, e, int(most))

	var p plan
	table := byKey(groups)
	for _, s := range mirrored.List(c) {
		if i := table.Find(key(s.AddressType, s.Ports)); i >= 0 {
			groups[i].existing = append(groups[i].existing, s)
		} else {
			p.delete = append(p.delete, s)
		}
	}

	var t totals
	described := &mirroredEndpoints{e, labels(e), annotations(e)}
	for i := range groups {
		groups[i].reconcile(&p, &t, described, int(most))
	}
	t.observe(c)
	t.record(c)
	p.reuse()
	return p.write(c, e)
}
