package module

import (
	"fmt"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/sdk"
)

// Bench measures syncs of these sizes, natively and in the sandbox.
func Bench(b *testing.B, p *sdk.Plugin, sizes []int, request func(size int) *abi.SyncRequest) {
	BenchPerforming(b, p, sizes, func(n int) (*abi.SyncRequest, Perform) { return request(n), Succeed })
}

// BenchPerforming is Bench of syncs that perform something.
func BenchPerforming(b *testing.B, p *sdk.Plugin, sizes []int, sync func(size int) (*abi.SyncRequest, Perform)) {
	m := Open(b, p)
	for _, n := range sizes {
		r, perform := sync(n)
		size := float64(abi.SizeRequest(r))
		b.Run(fmt.Sprint("native/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if a := sdk.Run(p, r, settings(p), perform); a.Error != "" {
					b.Fatal(a.Error)
				}
			}
			b.ReportMetric(size, "bytes/sync")
		})

		b.Run(fmt.Sprint("module/", n), func(b *testing.B) {
			c := newCall(r, func(request []byte) ([]byte, error) { return answerPerform(request, perform) })
			var stats sandbox.Stats
			for b.Loop() {
				var err error
				if stats, err = m.loaded.Module.Sync(b.Context(), c, func([]byte) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(stats.Memory)/(1<<20), "MiB")
			b.ReportMetric(size, "bytes/sync")
		})
	}
}

// BenchSteady is Bench of syncs that find nothing to do.
func BenchSteady(b *testing.B, p *sdk.Plugin, sizes []int, request func(size int) *abi.SyncRequest) {
	Bench(b, p, sizes, func(n int) *abi.SyncRequest {
		p.Manifest()
		r := request(n)
		a := sdk.Run(p, r, settings(p), func(p *abi.PerformRequest) (*abi.PerformResponse, error) {
			b.Errorf("%d: %d effects are performed: not steady", n, len(p.Effects))
			return Succeed(p)
		})
		if len(a.Effects) > 0 {
			b.Errorf("%d: %d effects: not steady", n, len(a.Effects))
		}
		return r
	})
}
