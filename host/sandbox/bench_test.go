package sandbox

import (
	"context"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/windlass-dev/windlass/host/sandbox/rewrite"
)

// BenchmarkSync measures syncs of the test guest all told: taking an instance, putting the baseline back, the call,
// reading the answer. "empty" is the empty sync that the performance promise speaks of, "1MiB" writes a message of 1
// MiB which the guest answers with.
func BenchmarkSync(b *testing.B) {
	for _, name := range guests {
		m := loadGuest(b, name, Options{})
		if err := m.Configure(context.Background(), []byte("settings")); err != nil {
			b.Fatal(err)
		}

		for _, bench := range []struct {
			name    string
			message []byte
		}{
			{"empty", nil},
			{"perform", []byte("p1")},
			{"work 20 KB", workload(20_000)},
			{"echo 1 MiB", append([]byte{'e'}, make([]byte, 1<<20)...)},
		} {
			b.Run(name+"/"+bench.name, func(b *testing.B) {
				call := request(bench.message)
				outcome := []byte("outcome")
				call.Perform = func(context.Context, []byte) ([]byte, error) { return outcome, nil }
				read := func([]byte) error { return nil }
				fastest, restore, ran := time.Hour, time.Hour, time.Hour
				b.ReportAllocs()
				b.SetBytes(int64(len(bench.message)))
				for b.Loop() {
					from := time.Now()
					stats, err := m.Sync(b.Context(), call, read)
					if err != nil {
						b.Fatal(err)
					}
					restore = min(restore, stats.Restore)
					ran = min(ran, stats.Duration)
					fastest = min(fastest, time.Since(from))
				}
				b.ReportMetric(float64(fastest.Nanoseconds()), "fastest-ns") // this machine may have other work
				b.ReportMetric(float64(restore.Nanoseconds()), "fastest-restore-ns")
				b.ReportMetric(float64(ran.Nanoseconds()), "fastest-guest-ns")
			})
		}
	}
}

func workload(n int) []byte {
	message := make([]byte, n)
	for i := range message {
		message[i] = byte(i * 7)
	}
	message[0] = 'w'
	return message
}

// BenchmarkMetering compares a guest as it runs here with the module as delivered, which nothing meters: only the time
// in the guest, each time in the baseline's state.
func BenchmarkMetering(b *testing.B) {
	message := workload(4000)
	for _, name := range guests {
		wasm := guestModule(b, name)
		b.Run(name+"/plain", func(b *testing.B) {
			ctx := b.Context()
			r := wazero.NewRuntimeWithConfig(ctx,
				wazero.NewRuntimeConfig().WithCoreFeatures(features).WithMemoryLimitPages(1024))
			defer r.Close(ctx)
			parsed, err := rewrite.Parse(wasm)
			if err != nil {
				b.Fatal(err)
			}

			m := &Module{options: Options{Helpers: helpers}, runtime: r}
			if err := m.defineImports(ctx, parsed); err != nil {
				b.Fatal(err)
			}

			compiled, err := r.CompileModule(ctx, wasm)
			if err != nil {
				b.Fatal(err)
			}

			fastest := time.Hour
			for b.Loop() {
				memory, err := mapMemory(1024 * pageSize)
				if err != nil {
					b.Fatal(err)
				}

				mod, err := r.InstantiateModule(experimental.WithMemoryAllocator(ctx, memory.allocator()), compiled,
					wazero.NewModuleConfig().WithName("").WithStartFunctions())
				if err != nil {
					b.Fatal(err)
				}

				i := &instance{owner: m, module: mod, memory: memory, fuel: new(counter), pages: new(counter)}
				if f := mod.ExportedFunction(exportInitialize); f != nil {
					i.stack[0] = 0
					if err := f.CallWithStack(i, i.stack[:]); err != nil {
						b.Fatal(err)
					}
				}

				from := time.Now()
				i.stack[0] = uint64(len(message))
				if err := mod.ExportedFunction(exportAlloc).CallWithStack(i, i.stack[:]); err != nil {
					b.Fatal(err)
				}

				mod.Memory().Write(uint32(i.stack[0]), message)
				if err := mod.ExportedFunction(exportSync).CallWithStack(i, i.stack[:]); err != nil {
					b.Fatal(err)
				}

				fastest = min(fastest, time.Since(from))
				mod.Close(ctx)
			}

			b.ReportMetric(float64(fastest.Nanoseconds()), "fastest-guest-ns")
		})

		b.Run(name+"/metered", func(b *testing.B) {
			m := loadGuest(b, name, Options{})
			fastest := time.Hour
			var fuel int64
			for b.Loop() {
				_, stats, err := syncOnce(m, message)
				if err != nil {
					b.Fatal(err)
				}
				fastest = min(fastest, stats.Duration)
				fuel = stats.Fuel
			}
			b.ReportMetric(float64(fastest.Nanoseconds()), "fastest-guest-ns")
			b.ReportMetric(float64(fuel), "units/op")
		})
	}
}

// counter stands for a global of the meter that a plain module doesn't have; it never runs out.
type counter struct {
	api.MutableGlobal
}

func (c *counter) Get() uint64 { return 1<<40 + 1024 }
func (c *counter) Set(uint64)  {}
