package endpointslice

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

var (
	powers = []float64{2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768}
	added  = sdk.Histogram("endpoint_slice_controller_endpoints_added_per_sync",
		"[BETA] Number of endpoints added on each Service sync", powers)

	removed = sdk.Histogram("endpoint_slice_controller_endpoints_removed_per_sync",
		"[BETA] Number of endpoints removed on each Service sync", powers)
	changes = sdk.Counter("endpoint_slice_controller_changes", "[ALPHA] Number of EndpointSlice changes",
		abi.Label{Name: "operation", Values: []string{"create", "update", "delete"}})
	// as upstream: native buckets alone
	changed = sdk.Histogram("endpoint_slice_controller_endpointslices_changed_per_sync",
		"[ALPHA] Number of EndpointSlices changed on each Service sync", nil,
		abi.Label{Name: "topology", Values: []string{"Auto", "Disabled"}},
		abi.Label{Name: "traffic_distribution", Values: append([]string{""}, distributions...)})
	syncs = sdk.Counter("endpoint_slice_controller_syncs", "[ALPHA] Number of EndpointSlice syncs",
		abi.Label{Name: "result", Values: []string{"success", "error"}})

	// What the services' slices add up to.
	desired = sdk.Sum("endpoint_slice_controller_endpoints_desired", "[BETA] Number of endpoints desired")
	actual  = sdk.Sum("endpoint_slice_controller_num_endpoint_slices", "[BETA] Number of EndpointSlices")
	ideal   = sdk.Sum("endpoint_slice_controller_desired_endpoint_slices",
		"[BETA] Number of EndpointSlices that would exist with perfect endpoint allocation")
	spread = sdk.Sum("endpoint_slice_controller_services_count_by_traffic_distribution",
		"[BETA] Number of Services using some specific trafficDistribution",
		abi.Label{Name: "traffic_distribution", Values: distributions})

	distributions = []string{corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone,
		corev1.ServiceTrafficDistributionPreferSameNode}
)

// totals are a service's shares of the sums.
type totals struct{ endpoints, slices, ideal int }

// recordMetrics sets the service's shares, and the traffic distribution that it uses, if any; a service that is gone
// has none.
func (t totals) recordMetrics(c *sdk.Call, distribution string) {
	desired.Add(c, float64(t.endpoints))
	actual.Add(c, float64(t.slices))
	ideal.Add(c, float64(t.ideal))
	if distribution == "" {
		spread.Add(c, 0, distributions[0])
		return
	}
	spread.Add(c, 1, distribution)
}
