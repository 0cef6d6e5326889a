package endpointslice

import (
	"time"

	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	discoveryv1 "github.com/windlass-dev/windlass/sdk/api/discovery/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

var (
	zoned = sdk.Select(resource.Of[node]{Info: nodeInfo}).Fields(zoneLabel).Fields(capacity...).Quiet(
		"status.allocatable").Batch(time.Second)
	// sharing are the services that ask for hints which share out the zones' capacity.
	sharing = sdk.Select(corev1.Services,
		sdk.Any(sdk.In(hintsOld, auto...), sdk.All(sdk.Not(sdk.Exists(hintsOld)), sdk.In(hintsMode, auto...)))).Quiet().
		Fields("metadata.namespace")
	shared = sdk.Select(discoveryv1.EndpointSlices, sdk.Join("metadata.namespace", sharing, "metadata.namespace"),
		sdk.Join(serviceName, sharing, "metadata.name"),
		sdk.In(managedBy, manager), sdk.Not(sdk.Exists("metadata.deletionTimestamp"))).Quiet().
		Fields(serviceName, "addressType", "endpoints.conditions.ready", "endpoints.zone", "endpoints.hints")
)

// syncZones wakes the services whose hints the nodes as they are now wouldn't allow, and those without hints that could
// have some (upstream: GetOverloadedServices of k8s.io/endpointslice/topologycache, which has the former). So a node's
// change is no sync of every service with hints, and one that can't have any doesn't tell so again.
func syncZones(c *sdk.Call) error {
	zones, total := capacities(zoned.List(c))
	rest := shared.List(c) // in the order of their namespaces, as the services are
	for _, s := range sharing.List(c) {
		for len(rest) > 0 && rest[0].Namespace < s.Namespace {
			rest = rest[1:]
		}
		var ipv4, ipv6 []*discoveryv1.EndpointSlice // each family has hints of its own
		for _, x := range rest {
			if x.Namespace != s.Namespace {
				break
			}
			switch {
			case x.Labels.Get(discoveryv1.LabelServiceName) != s.Name:
			case x.AddressType == discoveryv1.AddressTypeIPv6:
				ipv6 = append(ipv6, x)
			default:
				ipv4 = append(ipv4, x)
			}
		}
		if outdated(zones, total, ipv4) || outdated(zones, total, ipv6) {
			c.Add(sdk.Wake(0, s))
		}
	}
	return nil
}

// outdated reports whether hints of slices leave a zone with too few endpoints or too many, or whether there are none
// and could be some.
func outdated(zones []zone, total int64, slices []*discoveryv1.EndpointSlice) bool {
	hinted, placed := false, true
	for _, s := range slices {
		for i := range s.Endpoints {
			e := &s.Endpoints[i]
			hinted = hinted || hasHints(e)
			placed = placed && (e.Zone != nil || !equalBool(e.Conditions.Ready, true))
		}
	}

	p := plan{unchanged: slices}
	if allocate(zones, total, p.countReady()) != "" || !placed {
		return hinted
	}

	for i := range zones {
		zones[i].allocated = 0
	}
	for _, s := range slices {
		if !countKeptHints(zones, s) {
			return true
		}
	}

	for i := range zones {
		if zones[i].allocated < zones[i].least {
			return true
		}
	}
	return false
}
