package sandbox

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/test/worlds"
)

// randomMessage returns a random message for the test guest: small ones, large ones, performs, leftovers, writes behind
// the memory's end.
func randomMessage(r *rand.Rand) []byte {
	n := r.IntN(200)
	if r.IntN(8) == 0 {
		n = r.IntN(30_000)
	}
	m := make([]byte, n)
	for i := range m {
		m[i] = byte(r.Uint32())
	}
	m = append([]byte{"ewwwssphlW"[r.IntN(10)]}, m...)
	switch m[0] {
	case 'p':
		m = m[:min(len(m), 6)]
	case 'W':
		m = append(m[:1], byte(5), byte(r.IntN(250)), 0)
	}
	return m
}

// TestSyncEqualsFreshInstance: whatever ran in an instance before, a sync in it answers as in an instance made for it
// alone, and leaves the same memory and globals.
func TestSyncEqualsFreshInstance(t *testing.T) {
	for _, name := range guests {
		t.Run(name, func(t *testing.T) {
			m := loadGuest(t, name, Options{MemoryLimit: 6 << 20})
			settings := []byte("some settings")
			if err := m.Configure(context.Background(), settings); err != nil {
				t.Fatal(err)
			}

			r := rand.New(rand.NewPCG(1, 2))
			largest := int64(0)
			for n := range worlds.Number(600) {
				message := randomMessage(r)
				got, stats, err := syncOnce(m, message)
				if err != nil {
					t.Fatalf("sync %d: %v", n, err)
				}
				largest = max(largest, stats.Memory)
				if len(m.pool.idle) != 1 {
					t.Fatalf("sync %d: %d idle instances, not the one of every sync", n, len(m.pool.idle))
				}
				fresh, want := freshSync(t, m, settings, message)
				if !bytes.Equal(got, want) {
					t.Fatalf("sync %d (%c, %d bytes): answers %q, a fresh instance %q", n, message[0], len(message), got, want)
				}
				compareState(t, n, m.pool.idle[0], fresh)
				fresh.close()
			}

			t.Logf("baseline %d pages, %d parts; largest sync %d KiB",
				m.baseline.Load().pages, len(m.baseline.Load().runs), largest>>10)
		})
	}
}

// freshSync runs one sync in an instance that was initialized and configured for it.
func freshSync(t *testing.T, m *Module, settings, message []byte) (*instance, []byte) {
	t.Helper()
	i, err := m.instantiate(context.Background())
	if err != nil {
		t.Fatal(err)
	}

	step := func(export string, message []byte) []byte {
		c := request(message)
		i.call = m.outsideSync(export)
		if export == exportSync {
			i.call.perform = c.Perform
		}
		var answer []byte
		if export == exportInitialize {
			err = i.beginCall(context.Background())
			if err == nil {
				err = i.module.ExportedFunction(export).CallWithStack(i, i.stack[:])
			}
			err = i.endCall(err)
		} else {
			answer, err = i.exchange(context.Background(), i.module.ExportedFunction(export), c.Size, c.Write)
		}
		if err != nil {
			t.Fatal(err)
		}
		return slices.Clone(answer)
	}

	if i.module.ExportedFunction(exportInitialize) != nil {
		step(exportInitialize, nil)
	}
	step(exportConfigure, settings)
	return i, step(exportSync, message)
}

func compareState(t *testing.T, n int, got, want *instance) {
	t.Helper()
	if got.pages.Get() != want.pages.Get() {
		t.Fatalf("sync %d: %d pages, a fresh instance %d", n, got.pages.Get(), want.pages.Get())
	}
	for k := range got.globals {
		if g, w := got.globals[k].Get(), want.globals[k].Get(); g != w {
			t.Fatalf("sync %d: global %d is %d, in a fresh instance %d", n, k, g, w)
		}
	}
	if !bytes.Equal(got.memory.bytes, want.memory.bytes) {
		for at := range got.memory.bytes {
			if got.memory.bytes[at] != want.memory.bytes[at] {
				t.Fatalf("sync %d: memory differs at %d of %d: %d, in a fresh instance %d",
					n, at, got.memorySize(), got.memory.bytes[at], want.memory.bytes[at])
			}
		}
	}
}

func TestReconfigureReplacesTheImage(t *testing.T) {
	for _, name := range guests {
		t.Run(name, func(t *testing.T) {
			m := loadGuest(t, name, Options{})
			for _, settings := range []string{"first", "second, longer", "", "!refused", "last"} {
				err := m.Configure(context.Background(), []byte(settings))
				want := "\x01\x02\x00" + settings
				if settings == "!refused" {
					if refused := new(SettingsError); !asError(err, &refused) || refused.Message != "settings must not begin with !" {
						t.Fatalf("refused settings: %v", err)
					}
					want = "\x01\x02\x00"
				} else if err != nil {
					t.Fatal(err)
				}
				for range 3 {
					if got, _, err := syncOnce(m, []byte("s")); err != nil || string(got) != want {
						t.Fatalf("after %q: %q, %v; want %q", settings, got, err, want)
					}
				}
			}
			if manifest, err := m.Manifest(context.Background()); err != nil || string(manifest) != `{"name":"guest"}` {
				t.Fatalf("manifest %q, %v", manifest, err)
			}
		})
	}
}
