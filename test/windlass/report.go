package windlass

import (
	"testing"

	"github.com/windlass-dev/windlass/test/cluster"
)

// ReportSyncs reports how often a controller has synced, how many bytes of the cluster each sync was shown, and how
// long each was in the sandbox.
func ReportSyncs(b *testing.B, m interface {
	Count(t testing.TB, metric string, labels ...string) float64
}, controller string) {
	b.Helper()
	syncs := m.Count(b, "windlass_syncs_total", "controller", controller)
	if syncs == 0 {
		b.Fatalf("%s has not synced", controller)
	}
	b.ReportMetric(syncs, "syncs")
	b.ReportMetric(m.Count(b, "windlass_snapshot_bytes_total", "controller", controller)/syncs, "bytes/sync")
	b.ReportMetric(m.Count(b, "windlass_outcome_bytes_total", "controller", controller)/syncs, "outcome-bytes/sync")
	b.ReportMetric(m.Count(b, "windlass_guest_seconds_total", "controller", controller)*1e6/syncs, "sandbox-µs/sync")
}

// InTurn runs a benchmark under Windlass and under the native manager, each with these controllers; name tells what
// belongs to which. Of Windlass the controller's syncs are reported.
func InTurn(b *testing.B, c *cluster.Cluster, controller string, controllers []string,
	run func(b *testing.B, name string)) {
	b.Run("windlass", func(b *testing.B) {
		m := Start(b, c, Options{Controllers: controllers})
		run(b, "ours")
		ReportSyncs(b, m, controller)
		m.Stop(b)
	})
	b.Run("native", func(b *testing.B) {
		stop := c.Native(b, controllers)
		run(b, "native")
		stop()
	})
}
