package manager

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/state"
	"github.com/windlass-dev/windlass/test/cluster"
)

// A plugin is added while the manager runs, another version takes its place and passes its trial, and both write for
// all keys; the first one's file comes back, and the plugin goes with its file.
func TestLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin()
	w.eventually("nothing runs", func(s *state.Status) bool { return len(s.Plugins) == 0 })

	first, second := greeter(t, "greeter", "first", ""), greeter(t, "greeter", "second", "")
	w.place(first)
	w.runs(first, state.SwapAdded)
	w.made("first")

	w.place(second)
	p := w.runs(second, state.SwapAdded, state.SwapOnTrial)
	if p.Trial != (p.Before == first.digest()) {
		t.Errorf("the first version should stay loaded while the second is on trial: %+v", p)
	}
	w.made("second") // all keys are woken
	for i := range trialSyncs {
		w.makeNamespaces(fmt.Sprint("more-", i))
	}
	if p = w.runs(second, state.SwapAdded, state.SwapOK); p.Trial || p.Before != "" {
		t.Errorf("the trial is over: %+v", p)
	}

	w.unmake("first")
	w.place(first)
	w.runs(first, state.SwapAdded, state.SwapOK, state.SwapOK) // there are more keys than a trial has syncs
	w.made("first")

	if err := os.Remove(filepath.Join(w.folder, "greeter.wasm")); err != nil {
		t.Fatal(err)
	}
	w.look()
	w.eventually("the plugin is gone", func(s *state.Status) bool {
		return len(s.Plugins) == 0 && len(s.Controllers) == 0 &&
			slices.Equal(swapsOf(s, "greeter"), []string{state.SwapAdded, state.SwapOK, state.SwapOK, state.SwapRemoved})
	})
	w.unmake("first")
	w.makeNamespaces("late")
	w.place(greeter(t, "greeter", "third", ""))
	w.made("third")
	w.notMade("first")
}

// Syncs that are in flight when another version takes over end on theirs, and are written; a key isn't in two versions
// at once.
func TestSyncsInFlight(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	held, letGo := w.hold()
	defer letGo()
	w.configure(nil, func(k *config.Configuration) {
		k.Plugins = []config.Plugin{{Name: "greeter", Workers: 3}}
	})
	w.place(greeter(t, "greeter", "first", ""))
	w.begin()
	begun := func(n int32) {
		t.Helper()
		cluster.Eventually(t, time.Minute, fmt.Sprint(n, " writes have begun"), func() (bool, int32) {
			return held.Load() >= n, held.Load()
		})
	}
	begun(2) // of the keys default and kube-system

	second := greeter(t, "greeter", "second", "")
	w.place(second)
	w.runs(second, state.SwapOnTrial)
	w.makeNamespaces("more")
	begun(3)
	w.eventually("two keys wait for their syncs to end", func(s *state.Status) bool {
		return s.Controllers[0].Syncing == 3
	})
	w.notMade("first")

	letGo()
	w.made("first")
	w.made("second")
	begun(5) // the second version's for the first one's keys, too
}

// A version that traps is rolled back, its keys are synced by the one before, and it isn't tried again until the file
// changes.
func TestRollBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good, bad := greeter(t, "greeter", "good", ""), greeter(t, "greeter", "bad", "(unreachable)")
	w.place(good)
	w.begin()
	w.runs(good)
	w.made("good")

	w.unmake("good")
	w.place(bad)
	p := w.runs(good, state.SwapRolledBack)
	w.made("good")
	if len(p.Failed) != 1 || !strings.Contains(p.Failed[0], "unreachable") || p.Trial {
		t.Errorf("why it isn't the file's version that runs: %+v", p)
	}

	w.look()
	w.look() // so that the first one is over
	w.runs(good, state.SwapRolledBack)
	w.notMade("bad")

	better := greeter(t, "greeter", "better", "")
	w.place(better)
	if p := w.runs(better, state.SwapRolledBack, state.SwapOnTrial); len(p.Failed) > 0 {
		t.Errorf("nobody asks for what has failed any more: %+v", p)
	}
}

// A roll-back brings back a controller that the failed version doesn't have, and it hears of events as before.
func TestRollBackOfAController(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := greeter(t, "greeter", "good", "", func(m *abi.Manifest) {
		of := newGreeting("greeter-1")
		of.Views[0].Resource.Name = "services"
		m.Controllers = append(m.Controllers, of)
	})
	w.place(good)
	w.begin()
	w.runs(good)

	w.place(greeter(t, "greeter", "bad", "(unreachable)"))
	w.runs(good, state.SwapRolledBack)
	w.running("greeter-0", "greeter-1")
	w.eventually("all keys were synced", func(s *state.Status) bool {
		return s.Controllers[0].Queue+s.Controllers[0].Syncing == 0
	})
	w.unmake("good") // all namespaces were synced, and there is no service
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "new"}}
	if _, err := w.client.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.made("good")
}

// A version that idled for want of a setting, and traps once it has that, is rolled back to one that hears of events as
// before.
func TestRollBackAfterIdling(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := greeter(t, "greeter", "good", "", func(m *abi.Manifest) {
		m.Settings = []abi.Setting{{Name: "of", Default: "1"}}
	})
	bad := greeter(t, "greeter", "bad", "(unreachable)", func(m *abi.Manifest) {
		m.Settings = []abi.Setting{{Name: "of", Required: true}}
	})
	w.place(good)
	w.begin()
	w.runs(good)

	w.place(bad)
	w.eventually("it idles", func(s *state.Status) bool {
		return s.Controllers[0].State == "Idle" && strings.Contains(s.Controllers[0].Message, "[of]")
	})
	w.configure(nil, func(k *config.Configuration) {
		k.Plugins = []config.Plugin{{Name: "greeter", Settings: map[string]string{"of": "1"}}}
	})
	w.runs(good, state.SwapRolledBack, state.SwapReconfigured)
	w.made("good")
	w.eventually("all keys were synced", func(s *state.Status) bool {
		return s.Controllers[0].Queue+s.Controllers[0].Syncing == 0
	})
	w.unmake("good")
	w.makeNamespaces("more")
	w.made("good")
}

// A shadow gets the calls, and nothing of it is written. It goes when the configuration doesn't name it any more, and
// the plugin's own version stays what it was.
func TestShadow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	live, shadow := greeter(t, "greeter", "live", ""), greeter(t, "greeter", "shadow", "")
	w.place(live)
	w.begin()
	w.runs(live)
	path := filepath.Join(t.TempDir(), "shadow.wasm")
	if err := os.WriteFile(path, shadow.wasm, 0o600); err != nil {
		t.Fatal(err)
	}

	w.configure(nil, func(k *config.Configuration) {
		k.Plugins = []config.Plugin{{Name: "greeter", Shadow: path}}
	})
	w.eventually("the shadow answers otherwise", func(s *state.Status) bool {
		p := pluginOf(s, "greeter")
		return p.Shadow == shadow.digest() && p.Digest == live.digest() && s.Controllers[0].Differences > 0
	})
	w.unmake("live")
	w.makeNamespaces("more")
	w.made("live")
	w.notMade("shadow")

	w.configure(nil, func(k *config.Configuration) { k.Plugins = nil })
	w.eventually("the shadow is gone", func(s *state.Status) bool { return pluginOf(s, "greeter").Shadow == "" })
	w.runs(live)
	w.m.changing.Lock()
	defer w.m.changing.Unlock()
	for _, s := range w.m.roster.slots() {
		if s.SetShadow(nil) != nil {
			t.Errorf("controller %s still gives its calls to the shadow", s.Name())
		}
	}
}

// Controllers of a plugin come and go as the list has them, and one that comes back syncs all keys.
func TestControllersOfAPlugin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := greeter(t, "greeter", "hello", "", func(m *abi.Manifest) {
		m.Controllers = append(m.Controllers, newGreeting("greeter-1"))
	})
	w.place(g)
	w.begin()
	w.runs(g)
	w.running("greeter-0", "greeter-1")

	w.configure(nil, func(k *config.Configuration) { k.Controllers = []string{"*", "-greeter-0"} })
	w.running("greeter-1")
	w.configure(nil, func(k *config.Configuration) { k.Controllers = []string{"greeter-0"} })
	w.running("greeter-0")
	w.unmake("hello")
	w.configure(nil, func(k *config.Configuration) { k.Controllers = []string{"*"} })
	w.running("greeter-0", "greeter-1")
	w.made("hello")
}

// Of a plugin with several controllers each may have its own number of workers, and none is set of one that it hasn't.
func TestWorkersOfAController(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.place(greeter(t, "greeter", "hello", "", func(m *abi.Manifest) {
		m.Controllers = append(m.Controllers, newGreeting("greeter-1"))
	}))
	w.configure(nil, func(k *config.Configuration) {
		k.Plugins = []config.Plugin{{Name: "greeter", Workers: 3,
			Controllers: []config.PluginController{{Name: "greeter-1", Workers: 7}}}}
	})
	w.begin()
	workers := func(want ...int) {
		t.Helper()
		w.eventually(fmt.Sprint("workers ", want), func(s *state.Status) bool {
			var got []int
			for _, c := range s.Controllers {
				got = append(got, c.Workers)
			}
			return slices.Equal(got, want)
		})
	}
	workers(3, 7)

	configure := func(c config.PluginController) {
		w.configure(nil, func(k *config.Configuration) {
			k.Plugins = []config.Plugin{{Name: "greeter", Controllers: []config.PluginController{c}}}
		})
	}
	configure(config.PluginController{Name: "greeter-0", Workers: 2})
	workers(2, 1)

	configure(config.PluginController{Name: "greeter-2", Workers: 5})
	w.eventually("it is refused", func(s *state.Status) bool {
		return strings.Contains(s.Refused, "controllers[greeter-2]: the plugin has no such controller: it has greeter-0")
	})
	workers(2, 1)
}

// A grant that doesn't let a controller read idles it at once, and a wider one has it run again.
func TestGrant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := greeter(t, "greeter", "hello", "")
	w.place(g)
	w.begin()
	w.made("hello")

	grant := func(rules []config.Rule) {
		w.configure(nil, func(k *config.Configuration) {
			k.Plugins = []config.Plugin{{Name: "greeter", Grant: rules}}
		})
	}
	grant([]config.Rule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}}})
	w.eventually("it idles", func(s *state.Status) bool {
		return s.Controllers[0].State == "Idle" && strings.Contains(s.Controllers[0].Message, "namespaces")
	})
	w.unmake("hello")
	w.makeNamespaces("more")
	grant([]config.Rule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"list", "watch"}},
	})
	w.runs(g, state.SwapReconfigured, state.SwapReconfigured)
	w.made("hello")
}

// A manager whose Lease another one has taken stops its controllers, and syncs all keys anew when it leads again, those
// of which it has heard nothing as well.
func TestSecondTerm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.elect()
	g := greeter(t, "greeter", "hello", "")
	w.place(g)
	w.begin()
	w.made("hello")
	w.runs(g)

	w.handLease("somebody else")
	w.eventually("it stands by", func(s *state.Status) bool {
		return s.Controllers[0].State == "Standby" && !s.Leaders[0].Here && s.Leaders[0].Holder == "somebody else"
	})
	w.unmake("hello")
	second := greeter(t, "greeter", "second", "")
	w.place(second)
	w.eventually("the other version stands by", func(s *state.Status) bool {
		return pluginOf(s, "greeter").Digest == second.digest() && s.Controllers[0].State == "Standby"
	})

	w.handLease("")
	w.runs(second, state.SwapOnTrial)
	w.made("second")
	w.notMade("hello")
}

// A cold standby doesn't take a configuration that doesn't fit its plugins: it would end when it begins.
func TestColdStandbyTakesWhatFits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	letGo := w.standBy()
	g := greeter(t, "greeter", "hello", "")
	w.place(g)
	w.begin()

	w.configure(nil, func(k *config.Configuration) {
		k.Plugins = []config.Plugin{{Name: "greeter", Settings: map[string]string{"nobody-knows": "x"}}}
	})
	w.eventually("it is refused", func(s *state.Status) bool { return strings.Contains(s.Refused, "nobody-knows") })

	letGo()
	w.runs(g)
	w.made("hello")
}
