package endpointslicemirroring

import (
	"strconv"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

const subsystem = "endpoint_slice_mirroring_controller_"

var (
	powers = []float64{2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768}
	added  = sdk.Histogram(subsystem+"endpoints_added_per_sync",
		"[ALPHA] Number of endpoints added on each Endpoints sync", powers)
	updated = sdk.Histogram(subsystem+"endpoints_updated_per_sync",
		"[ALPHA] Number of endpoints updated on each Endpoints sync", powers)
	removed = sdk.Histogram(subsystem+"endpoints_removed_per_sync",
		"[ALPHA] Number of endpoints removed on each Endpoints sync", powers)
	skipped = sdk.Histogram(subsystem+"addresses_skipped_per_sync",
		"[ALPHA] Number of addresses skipped on each Endpoints sync due to being invalid or exceeding MaxEndpointsPerSubset",
		powers)
	took = sdk.Histogram(subsystem+"endpoints_sync_duration", "[ALPHA] Duration of syncEndpoints() in seconds",
		[]float64{0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384})
	changes = sdk.Counter(subsystem+"changes", "[ALPHA] Number of EndpointSlice changes",
		abi.Label{Name: "operation", Values: []string{"create", "update", "delete"}})

	// What all Endpoints add up to.
	desired = sdk.Sum(subsystem+"endpoints_desired", "[ALPHA] Number of endpoints desired")
	actual  = sdk.Sum(subsystem+"num_endpoint_slices", "[ALPHA] Number of EndpointSlices")
	ideal   = sdk.Sum(subsystem+"desired_endpoint_slices",
		"[ALPHA] Number of EndpointSlices that would exist with perfect endpoint allocation")
)

// totals are a key's shares of the sums, and what a sync changes of endpoints.
type totals struct {
	endpoints, slices, ideal int
	added, updated, removed  int
}

func (t *totals) add(u totals) {
	t.added, t.updated, t.removed = t.added+u.added, t.updated+u.updated, t.removed+u.removed
}

// record sets the key's shares of the sums.
func (t totals) record(c *sdk.Call) {
	desired.Add(c, float64(t.endpoints))
	actual.Add(c, float64(t.slices))
	ideal.Add(c, float64(t.ideal))
}

// observe records what the sync changes.
func (t *totals) observe(c *sdk.Call) {
	added.Add(c, float64(t.added))
	updated.Add(c, float64(t.updated))
	removed.Add(c, float64(t.removed))
}

// record reports addresses that aren't mirrored. The number in the second event counts the invalid ones, too, as
// upstream's.
func (p passedOver) record(c *sdk.Call, e *corev1.Endpoints, most int) {
	skipped.Add(c, float64(p.all))
	if p.invalid > 0 {
		c.Event(e, corev1.EventTypeWarning, "InvalidIPAddress",
			"Skipped "+strconv.Itoa(p.invalid)+" invalid IP addresses when mirroring to EndpointSlices")
	}
	if p.all > p.invalid {
		c.Event(e, corev1.EventTypeWarning, "TooManyAddressesToMirror", "A max of "+strconv.Itoa(most)+
			" addresses can be mirrored to EndpointSlices per Endpoints subset. "+strconv.Itoa(p.all)+" addresses were skipped")
	}
}
