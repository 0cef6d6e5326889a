package controller

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/views"
	"github.com/windlass-dev/windlass/sdk"
)

// A single key is synced at the start though there is no object in its views, with a period or without.
func TestSingleKeyIsSyncedAtTheStart(t *testing.T) {
	for name, period := range map[string]time.Duration{"without a period": 0, "with a period": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var syncs atomic.Int32
				v := nativeVersion(t, func(*sdk.Call) error { syncs.Add(1); return nil })
				manifest := *v.Manifest
				manifest.Key = abi.Key{Single: true, Period: int64(period)}
				plan, err := views.Compile(&manifest)
				if err != nil {
					t.Fatal(err)
				}
				v.Manifest, v.Plan = &manifest, plan

				c := New(Options{World: configMapWorld(t)}, v)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					c.Run(ctx, time.Second)
				}()
				synctest.Wait()
				if n := syncs.Load(); n != 1 {
					t.Errorf("it was synced %d times, want once", n)
				}
				cancel()
				<-ended
			})
		})
	}
}
