package speed

import (
	"context"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	functions "github.com/windlass-dev/windlass/host/plugins/module"
	"github.com/windlass-dev/windlass/host/sandbox"
	builtin "github.com/windlass-dev/windlass/plugins"
	"github.com/windlass-dev/windlass/test/module"
)

// BenchmarkCompilers is the same plugin built by TinyGo and by Go.
func BenchmarkCompilers(b *testing.B) {
	const name = "replicaset"
	tinygo, _ := builtin.Module(name)
	for _, x := range []struct {
		compiler string
		wasm     []byte
	}{{"TinyGo", tinygo}, {"Go", module.BuildWithGo(b, name)}} {
		b.Run(x.compiler, func(b *testing.B) {
			w := crowded[name](b)
			load := func(t testing.TB) *sandbox.Module {
				m, err := sandbox.Load(t.Context(), x.wasm, sandbox.Options{Name: name, Helpers: functions.Helpers})
				if err != nil {
					t.Fatal(err)
				}
				if err := m.Configure(t.Context(), abi.AppendSettings(nil, w.settings)); err != nil {
					t.Fatal(err)
				}
				return m
			}

			loaded := measure(b, "load", func(t testing.TB) {
				if err := load(t).Close(context.Background()); err != nil {
					t.Fatal(err)
				}
			})

			w.module = load(b)
			b.Cleanup(func() { _ = w.module.Close(context.Background()) })
			crowd := measure(b, "thousand-pods", w.sandboxed)
			stats, err := w.module.Sync(b.Context(), &sandbox.Call{Size: len(w.message),
				Write: func(m []byte) { copy(m, w.message) }}, func([]byte) error { return nil })
			if err != nil {
				b.Fatal(err)
			}

			w.request.Key.Name = "gone"
			w.takeSnapshot(b)
			w.message = abi.AppendRequest(nil, &w.request)
			empty := measure(b, "nothing", w.sandboxed)
			addFigure("%s by %s\t%d KB\tcompiled and configured in %v\tprocessor time of a sync over 1,000 pods %v, %.1f MiB of memory; of one with nothing to do %v", name, x.compiler, len(x.wasm)>>10,
				roundDuration(loaded.cpu), roundDuration(crowd.cpu), float64(stats.Memory)/(1<<20), empty.cpu)
		})
	}
}
