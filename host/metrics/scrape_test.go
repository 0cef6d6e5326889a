package metrics

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
)

// Each scrape looks anew. What nobody has views for isn't shown as zero.
func TestLook(t *testing.T) {
	pods := abi.Resource{Version: "v1", Name: "pods"}
	now := Scrape{
		Caches: []cache.ResourceStatus{
			{Resource: pods, Synced: true, Objects: 3, Bytes: 700, Waiting: 2, Version: "41"},
		},
		DroppedLogBytes: map[string]int64{"p": 5},
		MissingImages:   1,
		SigningKeys:     []SigningKey{{Signs: "s", Until: time.Unix(9, 0), Rejected: true}, {Signs: "tokens"}},
		Controllers:     []ControllerScrape{{Name: "c", Aside: 3, Degraded: true, Away: 4, Unsettled: 2}},
	}
	r := prometheus.NewRegistry()
	New(r).Look(func() Scrape { return now })

	shown := []string{"windlass_cache_objects", "windlass_cache_bytes", "windlass_cache_synced", "informer_queued_items",
		"informer_store_resource_version", "windlass_dropped_log_bytes_total", "windlass_missing_images",
		"windlass_keys_set_aside", "windlass_controller_degraded", "windlass_syncs_without_worker",
		"windlass_keys_unsettled",
		"windlass_signing_certificate_expiration_timestamp_seconds", "windlass_signing_files_rejected",
		"garbagecollector_controller_resources_sync_error_total"}
	values := func() string {
		t.Helper()
		var all []string
		for _, name := range shown {
			series := seriesOf(t, r, name)
			for _, labels := range slices.Sorted(maps.Keys(series)) {
				all = append(all, fmt.Sprint(strings.TrimSpace(name+" "+labels), " ", series[labels]))
			}
		}
		return strings.Join(all, "\n")
	}
	want := `windlass_cache_objects v1/pods 3
windlass_cache_bytes v1/pods 700
windlass_cache_synced v1/pods 1
informer_queued_items ,kube-controller-manager,pods,v1 2
informer_store_resource_version ,kube-controller-manager,pods,v1 41
windlass_dropped_log_bytes_total p 5
windlass_missing_images 1
windlass_keys_set_aside c 3
windlass_controller_degraded c 1
windlass_syncs_without_worker c 4
windlass_keys_unsettled c 2
windlass_signing_certificate_expiration_timestamp_seconds s 9
windlass_signing_files_rejected s 1
windlass_signing_files_rejected tokens 0`
	if got := values(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	failed := int64(0)
	now.Caches, now.Controllers, now.SigningKeys, now.Unlisted = nil, nil, nil, &failed
	want = `windlass_dropped_log_bytes_total p 5
windlass_missing_images 1
garbagecollector_controller_resources_sync_error_total 0`
	if got := values(); got != want {
		t.Errorf("later, got\n%s\nwant\n%s", got, want)
	}
}
