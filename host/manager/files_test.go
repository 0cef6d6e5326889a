package manager

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/state"
)

// What can't be loaded leaves what runs alone: bytes that are no module, and a module that wants more than it may have.
func TestFileCannotBeUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sources = []plugins.Source{plugins.Folder(w.folder)}
	good := greeter(t, "greeter", "good", "")
	w.place(good)
	w.begin()
	w.made("good")

	w.placeBytes("greeter", good.wasm[:100])
	w.eventually("it is told", func(s *state.Status) bool { return pluginOf(s, "greeter").Broken != "" })
	w.runs(good, state.SwapFailed)
	w.place(greeter(t, "greeter", "large", "", func(m *abi.Manifest) { m.Memory = 1 << 30 }))
	p := w.runs(good, state.SwapFailed, state.SwapFailed)
	if p.Broken != "" || len(p.Failed) != 1 || !strings.Contains(p.Failed[0], "raise sandbox.memory") {
		t.Errorf("%+v", p)
	}

	w.placeBytes("greeter", good.wasm[:100])
	w.eventually("it is told, and nothing else is asked for", func(s *state.Status) bool {
		p := pluginOf(s, "greeter")
		return p.Broken != "" && len(p.Failed) == 0
	})
	w.unmake("good")
	w.makeNamespaces("more")
	w.made("good")
}

// A configuration that can't be read or doesn't fit isn't applied; what runs goes on, and the next one is applied.
func TestConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := greeter(t, "greeter", "hello", "")
	w.place(g)
	w.begin()
	w.runs(g)

	w.configure(errors.New("no YAML"), func(*config.Configuration) {})
	w.eventually("it is refused", func(s *state.Status) bool { return strings.Contains(s.Refused, "no YAML") })
	w.configure(nil, func(k *config.Configuration) {
		k.Plugins = []config.Plugin{{Name: "nobody"}}
		k.Controllers = []string{"-greeter-0"}
	})
	w.eventually("it is refused", func(s *state.Status) bool { return strings.Contains(s.Refused, `"nobody"`) })
	w.made("hello")
	w.unmake("hello")
	w.makeNamespaces("more")
	w.made("hello")
	w.runs(g)

	w.configure(nil, func(k *config.Configuration) {
		k.Plugins = []config.Plugin{{Name: "greeter", Workers: 3, Limits: config.Limits{Fuel: 1 << 20}}}
		k.Controllers = []string{"*"}
	})
	w.runs(g, state.SwapReconfigured)
	w.eventually("it is applied", func(s *state.Status) bool { return s.Refused == "" && s.Controllers[0].Workers == 3 })
}

// A file that can't be used is the trouble of its plugin alone, also where the configuration names that, and at a
// start.
func TestABrokenFileAtTheStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sources = []plugins.Source{plugins.Folder(w.folder)}
	good, other := greeter(t, "greeter", "hello", ""), greeter(t, "other", "whole", "")
	w.place(good)
	w.placeBytes("other", other.wasm[:100])
	w.configure(nil, func(k *config.Configuration) {
		k.Plugins = []config.Plugin{{Name: "other", Workers: 2}, {Name: "greeter", Workers: 3}}
		k.Controllers = []string{"*", "other-0"}
	})
	w.begin()
	w.runs(good)
	w.eventually("it is told", func(s *state.Status) bool {
		return s.Controllers[0].Workers == 3 && strings.Contains(strings.Join(s.LeftOut, " "), "other.wasm")
	})

	w.place(other)
	w.runs(other, state.SwapAdded)
	w.eventually("nothing is left out", func(s *state.Status) bool {
		return len(s.LeftOut) == 0 && s.Controllers[1].Workers == 2
	})
}

// The file of a plugin that the configuration names may be removed, whether it runs or can't be used: that is told, and
// what else the configuration says goes on being applied.
func TestAConfiguredFileIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sources = []plugins.Source{plugins.Folder(w.folder)}
	first, second := greeter(t, "first", "a", ""), greeter(t, "second", "b", "")
	w.place(first)
	w.place(second)
	w.configure(nil, func(k *config.Configuration) {
		k.Plugins = []config.Plugin{{Name: "first"}, {Name: "second"}}
		k.Controllers = []string{"*", "first-0"}
	})
	w.begin()
	w.made("a")
	w.made("b")

	leftOut := func(s *state.Status) string { return strings.Join(s.LeftOut, " ") }
	for workers, broken := range []bool{false, true} {
		if broken {
			w.placeBytes("first", first.wasm[:100])
			w.eventually("it is told", func(s *state.Status) bool { return strings.Contains(leftOut(s), "first.wasm") })
		}
		if err := os.Remove(filepath.Join(w.folder, "first.wasm")); err != nil {
			t.Fatal(err)
		}
		w.look()
		w.eventually("it isn't there", func(s *state.Status) bool {
			return len(s.Controllers) == 1 && strings.Contains(leftOut(s), `no plugin "first" was found`) &&
				strings.Contains(leftOut(s), `"first-0" is not in the list`) && !strings.Contains(leftOut(s), "first.wasm")
		})

		w.configure(nil, func(k *config.Configuration) { k.Plugins[1].Workers = int32(workers + 2) })
		w.eventually("the other plugin's workers", func(s *state.Status) bool {
			return s.Refused == "" && s.Controllers[0].Workers == workers+2
		})
	}
	w.configure(nil, func(k *config.Configuration) { k.Plugins = append(k.Plugins, config.Plugin{Name: "nobody"}) })
	w.eventually("what was never there is refused", func(s *state.Status) bool { return strings.Contains(s.Refused, `"nobody"`) })

	w.place(first)
	w.configure(nil, func(k *config.Configuration) { k.Plugins = k.Plugins[:2] })
	w.runs(first, state.SwapRemoved, state.SwapAdded)
	w.eventually("nothing is left out", func(s *state.Status) bool { return s.Refused == "" && leftOut(s) == "" })
}

// A manager starts though the file of a plugin that its configuration names isn't there, and though another one's
// settings don't fit. Until the file is there, no plugin begins that the name may have been meant for.
func TestAConfiguredFileIsMissingAtAStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sources = []plugins.Source{plugins.Folder(w.folder)}
	first, second := greeter(t, "first", "a", ""), greeter(t, "second", "b", "")
	third, fourth := greeter(t, "third", "c", ""), greeter(t, "fourth", "d", "")
	w.place(second)
	w.place(third)
	w.place(fourth)
	w.configure(nil, func(k *config.Configuration) {
		k.Plugins = []config.Plugin{{Name: "first"}, {Name: "second"},
			{Name: "fourth", Settings: map[string]string{"nobody-knows": "x"}}}
		k.Controllers = []string{"*", "first-0"}
	})
	w.begin()

	w.running("second-0")
	w.eventually("it is told", func(s *state.Status) bool {
		told := strings.Join(s.LeftOut, "\n")
		return strings.Contains(told, `no plugin "first" was found`) &&
			strings.Contains(told, `"first-0" is not in the list`) &&
			strings.Contains(told, `plugin "third" isn't started`) && strings.Contains(told, "nobody-knows")
	})
	w.notMade("c")

	w.place(first)
	w.running("first-0", "second-0", "third-0")
	w.configure(nil, func(k *config.Configuration) { k.Plugins[2].Settings = nil })
	w.running("first-0", "fourth-0", "second-0", "third-0")
	w.eventually("nothing is left out", func(s *state.Status) bool { return s.Refused == "" && len(s.LeftOut) == 0 })

	if err := os.Rename(filepath.Join(w.folder, "first.wasm"), filepath.Join(w.folder, "fifth.wasm")); err != nil {
		t.Fatal(err)
	}
	w.place(greeter(t, "fifth", "e", ""))
	w.eventually("the new one isn't started, and those that run go on", func(s *state.Status) bool {
		return strings.Contains(strings.Join(s.LeftOut, "\n"), `plugin "fifth" isn't started`) && len(s.Controllers) == 3
	})
	w.running("fourth-0", "second-0", "third-0")
}

// Settings that don't fit a plugin are its trouble alone: grants, its own as well, and what else the configuration says
// are applied.
func TestSettingsThatDontFit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := greeter(t, "first", "a", ""), greeter(t, "second", "b", "")
	w.place(first)
	w.place(second)
	w.begin()
	w.made("a")
	w.made("b")

	none := []config.Rule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}}}
	w.configure(nil, func(k *config.Configuration) {
		k.Plugins = []config.Plugin{
			{Name: "first", Grant: none, Workers: 9, Settings: map[string]string{"nobody-knows": "x"}},
			{Name: "second", Grant: none},
			{Name: "third", Workers: 1},
		}
	})
	w.eventually("a plugin that isn't there is refused", func(s *state.Status) bool {
		return strings.Contains(s.Refused, "third")
	})
	w.running("first-0", "second-0")

	w.configure(nil, func(k *config.Configuration) { k.Plugins = k.Plugins[:2] })
	w.eventually("both idle, and the reason is told", func(s *state.Status) bool {
		for _, c := range s.Controllers {
			if c.State != "Idle" || c.Workers != 1 {
				return false
			}
		}
		return len(s.Controllers) == 2 && strings.Contains(s.Refused, "nobody-knows")
	})
	w.configure(nil, func(k *config.Configuration) { k.Plugins = nil })
	w.running("first-0", "second-0")
}

// What is wrong with one plugin's file or settings is that plugin's trouble: with both amiss it goes on as it was, and
// each is told.
func TestSettingsThatDontFitBesideABrokenFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sources = []plugins.Source{plugins.Folder(w.folder)}
	first, second := greeter(t, "first", "a", ""), greeter(t, "second", "b", "")
	w.place(first)
	w.place(second)
	w.begin()
	w.made("a")
	w.made("b")

	w.placeBytes("first", first.wasm[:100])
	w.eventually("the file is told", func(s *state.Status) bool {
		return strings.Contains(pluginOf(s, "first").Broken, "first.wasm")
	})
	w.configure(nil, func(k *config.Configuration) {
		k.Plugins = []config.Plugin{{Name: "first", Workers: 4, Settings: map[string]string{"nobody-knows": "x"}},
			{Name: "second", Workers: 2}}
	})
	w.eventually("the settings are told, and the other's workers applied", func(s *state.Status) bool {
		return strings.Contains(s.Refused, "nobody-knows") && s.Controllers[0].Workers == 1 && s.Controllers[1].Workers == 2
	})
	w.running("first-0", "second-0")
	w.unmake("a")
	w.makeNamespaces("more")
	w.made("a")

	w.place(first)
	w.configure(nil, func(k *config.Configuration) { k.Plugins[0].Settings = nil })
	w.eventually("it is as it is configured", func(s *state.Status) bool {
		return s.Refused == "" && s.Controllers[0].Workers == 4
	})
	w.runs(first, state.SwapFailed)
}

// A cold standby's term begins with what fits, though a plugin's file has been exchanged meanwhile for one that doesn't
// know its settings.
func TestColdStandbyBeginsWithWhatFits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	letGo := w.standBy()
	knows := func(m *abi.Manifest) { m.Settings = []abi.Setting{{Name: "size", Default: "1"}} }
	first, second := greeter(t, "first", "a", "", knows), greeter(t, "second", "b", "")
	w.place(first)
	w.place(second)
	w.configure(nil, func(k *config.Configuration) {
		k.Plugins = []config.Plugin{{Name: "first", Settings: map[string]string{"size": "2"}}}
	})
	w.begin()

	w.place(greeter(t, "first", "c", ""))
	w.eventually("it is told", func(s *state.Status) bool { return strings.Contains(s.Refused, "size") })
	letGo()
	w.running("second-0")
	w.made("b")
	w.eventually("it is told still", func(s *state.Status) bool { return strings.Contains(s.Refused, "size") })

	w.configure(nil, func(k *config.Configuration) { k.Plugins = nil })
	w.running("first-0", "second-0")
	w.made("c")
}
