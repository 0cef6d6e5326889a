package manager

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/state"
	"github.com/windlass-dev/windlass/test/cluster"
)

// readOnly is a grant that lets a greeter look, and write nothing.
var readOnly = []config.Rule{{APIGroups: []string{""}, Resources: []string{"namespaces"},
	Verbs: []string{"get", "list", "watch"}}}

// presentOf returns the generation that runs of a plugin.
func (w *world) presentOf(name string) *generation {
	w.m.changing.Lock()
	defer w.m.changing.Unlock()
	return w.m.roster.named(name).present
}

// A shadow of a plugin whose writes hang ends beside what runs: neither its plugin's end nor a narrower grant waits.
func TestShadowTakenAwayWhileWritesHang(t *testing.T) {
	t.Parallel()
	for _, off := range []bool{true, false} {
		w := newWorld(t)
		held, letGo := w.hold()
		defer letGo()
		w.place(greeter(t, "greeter", "live", ""))
		path := filepath.Join(t.TempDir(), "shadow.wasm")
		if err := os.WriteFile(path, greeter(t, "greeter", "shadow", "").wasm, 0o600); err != nil {
			t.Fatal(err)
		}
		w.configure(nil, func(k *config.Configuration) { k.Plugins = []config.Plugin{{Name: "greeter", Shadow: path}} })
		w.begin()
		w.eventually("it has a shadow", func(s *state.Status) bool {
			return len(s.Plugins) == 1 && s.Plugins[0].Shadow != ""
		})
		before := held.Load()
		w.makeNamespaces("more") // whose sync the shadow looks on at
		cluster.Eventually(t, time.Minute, "it writes", func() (bool, int32) { return held.Load() > before, held.Load() })
		first := w.presentOf("greeter")

		w.configure(nil, func(k *config.Configuration) {
			if k.Plugins = nil; off {
				k.Controllers = []string{"*", "-greeter-0"}
			} else {
				k.Plugins = []config.Plugin{{Name: "greeter", Grant: readOnly}}
			}
		})
		w.look() // so the edit has been applied
		w.m.changing.Lock()
		if !first.revoked {
			t.Errorf("turned off: %v: the version may still write", off)
		}
		w.m.changing.Unlock()
	}
}

// While another module is being loaded, what runs has the rights of now, and so have the other plugins.
func TestNarrowedWhileAnotherModuleIsLoaded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.place(greeter(t, "one", "one", ""))
	w.place(greeter(t, "two", "two", ""))
	w.begin()
	w.running("one-0", "two-0")
	for range cap(w.m.arriving) { // nothing is loaded
		w.m.arriving <- struct{}{}
	}

	next := greeter(t, "one", "next", "")
	if err := os.WriteFile(filepath.Join(w.folder, "one.wasm"), next.wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	was := map[string]*generation{"one": w.presentOf("one"), "two": w.presentOf("two")}
	for _, name := range []string{"one", "two"} {
		w.configure(nil, func(k *config.Configuration) {
			k.Plugins = append(k.Plugins, config.Plugin{Name: name, Grant: readOnly})
		})
		w.look()
		w.m.changing.Lock()
		if !was[name].revoked {
			t.Errorf("%s may still write all that it could", name)
		}
		w.m.changing.Unlock()
	}
	w.eventually("status says what the next version waits for", func(s *state.Status) bool {
		return pluginOf(s, "one").Next != nil && pluginOf(s, "one").Next.Why == errComing.Error()
	})

	for range cap(w.m.arriving) {
		<-w.m.arriving
	}
	w.eventually("the next version runs", func(s *state.Status) bool { return pluginOf(s, "one").Digest == next.digest() })
}

// A plugin that isn't built in is compiled anew for another grant: until then it writes nothing, and nothing else
// waits.
func TestNarrowedWhileItIsCompiled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sources = []plugins.Source{plugins.Folder(w.folder)}
	w.place(greeter(t, "one", "one", ""))
	w.place(greeter(t, "two", "two", ""))
	w.begin()
	w.running("one-0", "two-0")
	first := w.presentOf("one")
	for range cap(w.m.arriving) { // nothing is compiled
		w.m.arriving <- struct{}{}
	}

	w.configure(nil, func(k *config.Configuration) { k.Plugins = []config.Plugin{{Name: "one", Grant: readOnly}} })
	w.configure(nil, func(k *config.Configuration) { k.Controllers = []string{"*", "-two-0"} })
	w.look()
	w.m.changing.Lock()
	if !first.revoked || w.m.roster.named("two") != nil {
		t.Errorf("one may write no more: %v; two runs: %v", first.revoked, w.m.roster.named("two") != nil)
	}
	w.m.changing.Unlock()

	for range cap(w.m.arriving) {
		<-w.m.arriving
	}
	w.eventually("one runs with the rights of now", func(s *state.Status) bool {
		now := w.presentOf("one")
		return now != first && !now.revoked && now.Digest == first.Digest
	})
}

// A controller that is to move between two plugins whose new versions both fail stays where it was.
func TestControllerMovesInVain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	withX := func(m *abi.Manifest) { m.Controllers = append(m.Controllers, newGreeting("x")) }
	w.place(greeter(t, "one", "one", ""))
	w.place(greeter(t, "two", "two", "", withX))
	w.begin()
	w.running("one-0", "two-0", "x")

	for name, g := range map[string]*guest{
		"one": greeter(t, "one", "gains", "(unreachable)", withX), "two": greeter(t, "two", "loses", "(unreachable)"),
	} {
		if err := os.WriteFile(filepath.Join(w.folder, name+".wasm"), g.wasm, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.look()
	for _, name := range []string{"one", "two"} {
		w.eventually(name+" is rolled back", func(s *state.Status) bool {
			return slices.Contains(swapsOf(s, name), state.SwapRolledBack)
		})
	}
	w.look()
	w.running("one-0", "two-0", "x")
}

// A controller that another plugin has now runs there alone, also when the one that it has left is rolled back to the
// version that had it.
func TestControllerMovesToAnotherPlugin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	withX := func(m *abi.Manifest) { m.Controllers = append(m.Controllers, newGreeting("x")) }
	one, two := greeter(t, "one", "one", ""), greeter(t, "two", "two", "", withX)
	w.place(one)
	w.place(two)
	w.begin()
	w.running("one-0", "two-0", "x")

	bad := greeter(t, "two", "bad", "(unreachable)")
	for name, wasm := range map[string][]byte{"one": greeter(t, "one", "gains", "", withX).wasm, "two": bad.wasm} {
		if err := os.WriteFile(filepath.Join(w.folder, name+".wasm"), wasm, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.look()
	xOf := func(s *state.Status) (plugins []string) {
		for _, c := range s.Controllers {
			if c.Name == "x" {
				plugins = append(plugins, c.Plugin)
			}
		}
		return plugins
	}
	w.eventually("two is rolled back, and x is one's", func(s *state.Status) bool {
		if n := xOf(s); len(n) > 1 {
			t.Fatalf("x runs in %q", n)
		}
		return slices.Contains(swapsOf(s, "two"), state.SwapRolledBack) && pluginOf(s, "two").Digest == two.digest() &&
			slices.Equal(xOf(s), []string{"one"})
	})
	w.running("one-0", "x", "two-0")

	w.place(one)
	w.place(two)
	w.eventually("x is two's again", func(s *state.Status) bool { return slices.Equal(xOf(s), []string{"two"}) })
	w.running("one-0", "two-0", "x")
}
