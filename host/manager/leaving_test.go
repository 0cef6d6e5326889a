package manager

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/state"
	"github.com/windlass-dev/windlass/test/cluster"
)

// What is turned off while its writes hang holds nobody: the configuration is applied, also what comes after it, and
// status names what hasn't ended. What takes its place waits until it has.
func TestTurnedOffWhileWritesHang(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	held, letGo := w.hold()
	defer letGo()
	for _, name := range []string{"one", "two"} {
		w.place(greeter(t, name, name, ""))
	}
	w.begin()
	cluster.Eventually(t, time.Minute, "both write", func() (bool, int32) { return held.Load() >= 2, held.Load() })

	turn := func(off ...string) {
		t.Helper()
		w.configure(nil, func(k *config.Configuration) { k.Controllers = append([]string{"*"}, off...) })
	}
	turn("-one-0", "-two-0")
	w.eventually("both are turned off", func(s *state.Status) bool {
		return len(s.Plugins) == 0 && slices.Equal(s.Leaving, []string{"one-0", "two-0"})
	})
	three := greeter(t, "three", "three", "")
	w.place(three)
	w.runs(three, state.SwapAdded) // the next change is applied
	turn()
	w.look()
	s := w.m.inspector.status(t.Context())
	if len(s.Plugins) != 1 || !slices.Equal(s.Leaving, []string{"one-0", "two-0"}) {
		t.Errorf("plugins %+v run while %q haven't ended", s.Plugins, s.Leaving)
	}

	letGo()
	w.eventually("they are back", func(s *state.Status) bool { return len(s.Plugins) == 3 && len(s.Leaving) == 0 })
	w.made("one")
	w.made("two")
}

// A controller that is turned off and on again while its writes hang says what it waits for, in a plugin that runs on.
func TestTurnedOnWhileWritesHang(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	held, letGo := w.hold()
	defer letGo()
	w.place(greeter(t, "two", "two", "", func(m *abi.Manifest) {
		m.Controllers = append(m.Controllers, newGreeting("two-1"))
	}))
	w.begin()
	cluster.Eventually(t, time.Minute, "both write", func() (bool, int32) { return held.Load() >= 2, held.Load() })

	w.configure(nil, func(k *config.Configuration) { k.Controllers = []string{"*", "-two-1"} })
	w.eventually("one is turned off", func(s *state.Status) bool {
		return len(s.Controllers) == 1 && slices.Equal(s.Leaving, []string{"two-1"})
	})
	w.configure(nil, func(k *config.Configuration) { k.Controllers = []string{"*"} })
	w.eventually("it is to run again and waits", func(s *state.Status) bool {
		return slices.ContainsFunc(s.Controllers, func(c state.ControllerStatus) bool {
			return c.Name == "two-1" && c.State == "Starting" && c.Message == errPredecessor.Error()
		})
	})
	letGo()
	w.eventually("both run", func(s *state.Status) bool {
		return len(s.Controllers) == 2 && s.Controllers[0].State == "Running" && s.Controllers[1].State == "Running"
	})
}

// A plugin whose grant gets narrower together with another module writes nothing more under the older one, whoever
// waits for its syncs in flight.
func TestNarrowedWithAnotherModule(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	held, letGo := w.hold()
	defer letGo()
	w.place(greeter(t, "greeter", "first", ""))
	w.begin()
	cluster.Eventually(t, time.Minute, "it writes", func() (bool, int32) { return held.Load() >= 1, held.Load() })
	w.m.changing.Lock()
	first := w.m.roster.named("greeter").present
	w.m.changing.Unlock()

	second := greeter(t, "greeter", "second", "")
	if err := os.WriteFile(filepath.Join(w.folder, "greeter.wasm"), second.wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	w.configure(nil, func(k *config.Configuration) {
		reads := config.Rule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}}
		k.Plugins = []config.Plugin{{Name: "greeter", Grant: []config.Rule{reads}}}
	})
	w.eventually("the second runs", func(s *state.Status) bool {
		return len(s.Plugins) == 1 && s.Plugins[0].Digest == second.digest()
	})
	w.m.changing.Lock()
	defer w.m.changing.Unlock()
	if !first.revoked {
		t.Error("the first version may still write under the grant that it had")
	}
}

// What takes a place waits for all that leave it.
func TestLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &leaving{}
		if !x.wait(t.Context(), "a") {
			t.Error("nothing leaves")
		}
		first, second := x.begin("a", "b"), x.begin("a")
		waited := make(chan bool, 1)
		go func() { waited <- x.wait(t.Context(), "a") }()
		first()
		synctest.Wait()
		if len(waited) > 0 || !x.wait(t.Context(), "b") {
			t.Error("the second a hasn't left, and b has")
		}
		if got := fmt.Sprint(x.list()); got != "[a]" {
			t.Error(got)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if x.wait(ended, "a") {
			t.Error("it has waited in vain")
		}
		second()
		synctest.Wait()
		if len(waited) != 1 || !<-waited || len(x.list()) > 0 {
			t.Error("both have left")
		}
	})
}
