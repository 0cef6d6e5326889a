package simulator_test

import (
	"slices"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/author/guest/guesttest"
	"github.com/windlass-dev/windlass/author/simulator"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

const finalizer = "example.com/nightly"

// nightly returns a plugin that writes into a config map, each night, when it ran last. It has a finalizer, which it
// takes away in the end if it is meant to.
func nightly(removes bool) *sdk.Plugin {
	maps := sdk.Key(corev1.ConfigMaps).Fields("metadata.finalizers", "metadata.deletionTimestamp", "data")
	return &sdk.Plugin{Name: "nightly", Version: "1", Controllers: []*sdk.Controller{{
		Name: "nightly-controller", Reads: sdk.Views{maps}, Writes: sdk.Writes{corev1.ConfigMaps.Verbs("update")},
		Sync: func(c *sdk.Call) error {
			m, ok := maps.Get(c)
			if !ok {
				return nil
			}
			m = sdk.Clone(m)
			if m.Deleting() {
				if removes {
					m.RemoveFinalizer(finalizer)
				}
				return c.Update(m)
			}

			const day = int64(24 * time.Hour)
			now := c.Now().UnixNano()
			m.AddFinalizer(finalizer)
			m.Data.Set("ran", metav1.UnixNano(now-now%day).String())
			if err := c.Update(m); err != nil {
				return err
			}
			return c.After(time.Duration(day - now%day))
		},
	}}}
}

// explore returns the checks that a world shows to fail.
func explore(t *testing.T, p *sdk.Plugin, world string, except ...simulator.Check) (checks []simulator.Check) {
	t.Helper()
	w, err := simulator.ParseWorld([]byte(world))
	if err != nil {
		t.Fatal(err)
	}
	r, err := simulator.Explore(t.Context(), guesttest.Native(p), simulator.Options{World: w, Seeds: 2, Except: except})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		t.Logf("%s, %s: %s", f.Check, f.Scenario, f.Message)
		checks = append(checks, f.Check)
	}
	if r.Runs == 0 || r.Syncs == 0 {
		t.Errorf("%d runs, %d syncs", r.Runs, r.Syncs)
	}
	return checks
}

// A controller that works each night comes to its end at the world's `until`, with all checks of the end; without one
// it goes on for ever, and the end is looked at nevertheless.
func TestTheClockGoesOnUntil(t *testing.T) {
	const world = "objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}}]\n"
	for _, x := range []struct {
		name, world string
		removes     bool
		except      []simulator.Check
		want        []simulator.Check
	}{
		{"for three days", world + "until: 72h\n", true, nil, nil},
		{"for three days, and it can't go", world + "until: 72h\n", false, nil, []simulator.Check{simulator.Finalizer}},
		{"for ever", world, true, nil, []simulator.Check{simulator.Settles}},
		{"for ever, and it can't go", world, false, []simulator.Check{simulator.Settles},
			[]simulator.Check{simulator.Finalizer}},
	} {
		t.Run(x.name, func(t *testing.T) {
			if got := explore(t, nightly(x.removes), x.world, x.except...); !slices.Equal(got, x.want) {
				t.Errorf("found %q, want %q", got, x.want)
			}
		})
	}

	if _, err := simulator.ParseWorld([]byte(world + "until: -1h\n")); err == nil {
		t.Error("until may be before the beginning")
	}
}

// Namespaces that are keys go, too.
func TestNamespacesGo(t *testing.T) {
	spaces := sdk.Key(corev1.Namespaces).Fields("status.phase")
	p := &sdk.Plugin{Name: "spaces", Version: "1", Controllers: []*sdk.Controller{{
		Name: "spaces-controller", Reads: sdk.Views{spaces},
		Sync: func(c *sdk.Call) error {
			if _, ok := spaces.Get(c); !ok {
				panic("there is no namespace " + c.Name())
			}
			return nil
		},
	}}}

	got := explore(t, p, "objects: [{apiVersion: v1, kind: Namespace, metadata: {name: team}}]\n")
	if !slices.Contains(got, simulator.Panics) {
		t.Errorf("that it doesn't know of namespaces that are gone isn't found: %q", got)
	}
}
