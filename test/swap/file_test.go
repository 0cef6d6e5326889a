package swap

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/state"
)

// without is a source without one of its plugins.
type without struct {
	plugins.Source
	name string
}

func (w without) Modules() ([]*plugins.Plugin, []error) {
	all, errs := w.Source.Modules()
	return slices.DeleteFunc(all, func(p *plugins.Plugin) bool { return p.Name == w.name }), errs
}

func (w *world) modulePath() string { return filepath.Join(w.folder, "replicaset.wasm") }

// overwriteModule writes into the file in place, as a copy does.
func (w *world) overwriteModule(wasm []byte) {
	w.t.Helper()
	if err := os.WriteFile(w.modulePath(), wasm, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// awaitBroken waits until the host has said everywhere that the file can't be used, and returns what runs all the same.
func (w *world) awaitBroken(says string) (p state.PluginStatus) {
	w.t.Helper()
	w.eventually("the broken file is told of", func() (bool, string) {
		s := w.m.Status(w.t)
		p = pluginOf(&s, "replicaset")
		trouble := slices.ContainsFunc(s.Troubles, func(x state.Trouble) bool {
			return x.About == "replicaset" && p.Broken != "" && strings.Contains(x.What, p.Broken)
		})
		x := lastSwap(&s)
		swap := x.Plugin == "replicaset" && x.Result == "failed" && x.From == p.Digest && x.To == "" && x.Why == p.Broken
		return strings.Contains(p.Broken, w.modulePath()) && strings.Contains(p.Broken, says) && trouble && swap &&
				s.Refused == "" && len(s.LeftOut) == 0,
			fmt.Sprintf("%+v\ntroubles %+v\nlast swap %+v\nrefused %s, left out %q", p, s.Troubles, x, s.Refused, s.LeftOut)
	})
	return p
}

func lastSwap(s *state.Status) (x state.Swap) {
	if len(s.Swaps) > 0 {
		x = s.Swaps[0]
	}
	return x
}

// awaitTrial waits until a module runs and is on trial, with what it falls back on, and returns its plugin.
func (w *world) awaitTrial(wasm []byte, before string) (p state.PluginStatus) {
	w.t.Helper()
	digest := digest(wasm)
	w.eventually("the file's version runs, on trial", func() (bool, string) {
		s := w.m.Status(w.t)
		p = pluginOf(&s, "replicaset")
		x := lastSwap(&s)
		return p.Digest == digest && p.Broken == "" && (x.Result == "on trial" || x.Result == "ok") && x.From == before &&
			x.To == digest, fmt.Sprintf("%+v\nlast swap %+v", p, x)
	})
	return p
}

// A file that is broken, or half written, changes nothing; whole again it is on trial. The plugin is named in the
// configuration, and where it is no built-in one's nothing else runs in its place.
func TestBrokenFile(t *testing.T) {
	t.Parallel()
	for name, builtin := range map[string]bool{"in place of a built-in plugin": true,
		"of a plugin that isn't built in": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "deployment", "replicaset", "serviceaccount")
			var more []config.Plugin
			w.configure = func(k *config.Configuration, _ *config.Plugin) { k.Plugins = append(k.Plugins, more...) }
			one, two, three, four := variant(t, "replicaset", 1), variant(t, "replicaset", 2), variant(t, "replicaset", 3),
				variant(t, "replicaset", 4)
			w.placeModule("replicaset", one)
			if !builtin {
				w.sources = []plugins.Source{without{plugins.Builtin{}, "replicaset"}, plugins.Folder(w.folder)}
			}
			w.startManager()
			w.createDeployment("web", 3)
			w.awaitPods("web", 3)

			t.Log("it is cut: what runs goes on, and takes another configuration")
			w.overwriteModule(two[:3000])
			if p := w.awaitBroken("truncated"); p.Digest != digest(one) || p.Origin != w.modulePath() {
				t.Errorf("runs: %+v", p)
			}
			more = []config.Plugin{{Name: "deployment", Workers: 3}}
			w.m.Reload()
			w.eventually("the configuration is applied", func() (bool, string) {
				for _, c := range w.m.Status(t).Controllers {
					if c.Plugin == "deployment" {
						return c.Workers == 3, fmt.Sprint(c.Workers)
					}
				}
				return false, "no deployment"
			})
			w.scaleDeployment("web", 5)
			w.awaitPods("web", 5)

			t.Log("a slow copy ends as a rename does")
			w.overwriteModule(nil)
			w.awaitBroken("not a WebAssembly module")
			w.overwriteModule(two[:len(two)/2])
			if p := w.awaitBroken("truncated"); p.Digest != digest(one) {
				t.Errorf("runs: %+v", p)
			}
			w.overwriteModule(two)
			copied := w.awaitTrial(two, digest(one))
			w.placeModule("replicaset", three)
			renamed := w.awaitTrial(three, digest(two))
			renamed.Digest, renamed.Since, renamed.Before = copied.Digest, copied.Since, copied.Before
			renamed.Trial, renamed.Instances, renamed.Busy = copied.Trial, copied.Instances, copied.Busy
			renamed.Memory = copied.Memory
			if fmt.Sprint(copied) != fmt.Sprint(renamed) {
				t.Errorf("after a slow copy %+v, after a rename %+v", copied, renamed)
			}

			t.Log("a version that traps is rolled back also when it was copied slowly, and what is broken afterwards isn't the one that failed")
			traps := brokenModule(t)
			w.overwriteModule(traps[:len(traps)/2])
			w.awaitBroken("truncated")
			w.overwriteModule(traps)
			w.eventually("it is rolled back", func() (bool, string) {
				p := w.pluginStatus("replicaset")
				return p.Digest == digest(three) && len(p.Failed) == 1, fmt.Sprintf("%+v", p)
			})
			w.overwriteModule(traps[:3000])
			if p := w.awaitBroken("truncated"); p.Digest != digest(three) || len(p.Failed) > 0 {
				t.Errorf("runs: %+v", p)
			}
			w.placeModule("replicaset", four)
			w.awaitTrial(four, digest(three))
			w.scaleDeployment("web", 4)
			w.awaitPods("web", 4)

			t.Log("the file goes, and with it the plugin")
			swaps := w.m.Status(t).Swaps
			if slices.ContainsFunc(swaps, func(x state.Swap) bool { return x.Result == "removed" || x.Result == "added" }) {
				t.Errorf("a swap went around the trial: %+v", swaps)
			}
			if err := os.Remove(w.modulePath()); err != nil {
				t.Fatal(err)
			}
			w.eventually("what its file had doesn't run", func() (bool, string) {
				p := w.pluginStatus("replicaset")
				return builtin && p.Origin == "builtin:replicaset" || !builtin && p.Name == "", fmt.Sprintf("%+v", p)
			})
			if builtin {
				return
			}
			w.m.Reload()
			w.eventually("its name is told of, and refuses no configuration", func() (bool, string) {
				s := w.m.Status(t)
				told := strings.Join(s.LeftOut, "\n")
				return s.Refused == "" && strings.Contains(told, `no plugin "replicaset" was found`), s.Refused + told
			})
			w.overwriteModule(four[:3000])
			w.m.Reload()
			w.eventually("the cause is told", func() (bool, string) {
				s := w.m.Status(t)
				told := strings.Join(s.LeftOut, "\n")
				return s.Refused == "" && strings.Contains(told, `no plugin "replicaset" was found`) &&
					strings.Contains(told, w.modulePath()) && strings.Contains(told, "truncated"), told
			})
			w.overwriteModule(four)
			w.eventually("it runs again", func() (bool, string) {
				p := w.pluginStatus("replicaset")
				return p.Digest == digest(four), fmt.Sprintf("%+v", p)
			})
		})
	}
}
