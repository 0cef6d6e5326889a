package manager

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/state"
)

// Plugins that aren't built in come after the others run: none is added twice, and one that the configuration turns off
// meanwhile doesn't run in the end.
func TestStrangersComeLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	native := t.TempDir()
	w.sources = []plugins.Source{trusted(native), plugins.Folder(w.folder)}
	write := func(folder string, g *guest) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, g.name+".wasm"), g.wasm, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(native, greeter(t, "home", "home", ""))
	want := []string{}
	for i := range 5 {
		name := fmt.Sprint("stranger-", i)
		write(w.folder, greeter(t, name, name, ""))
		want = append(want, name+"-0")
	}
	w.begin()
	w.look() // as every ten seconds
	w.configure(nil, func(k *config.Configuration) { k.Controllers = []string{"*", "-stranger-4-0"} })

	w.running(append([]string{"home-0"}, want[:4]...)...)
	w.eventually("nothing is to come any more", func(s *state.Status) bool { return len(w.m.coming.list()) == 0 })
	for _, says := range []string{"home", "stranger-0", "stranger-3"} {
		w.made(says)
	}
	s := w.m.inspector.status(t.Context())
	for i := range 4 {
		if swaps := swapsOf(&s, fmt.Sprint("stranger-", i)); len(swaps) > 0 {
			t.Errorf("stranger-%d was there from the beginning: %q", i, swaps)
		}
	}
}

// What is to come is what was chosen: another choice, or none, takes its place.
func TestComing(t *testing.T) {
	t.Parallel()
	of := func(name, core string) *choice {
		return &choice{Found: plugins.Found{Plugin: &plugins.Plugin{Name: name}, Manifest: &abi.Manifest{
			Controllers: []abi.Controller{{Name: name + "-controller"}}}}, core: core, controllers: []int{0}}
	}
	names := func(x *coming) (all []string) {
		for _, a := range x.list() {
			all = append(all, a.Name+a.core)
		}
		return all
	}
	taken := func(x *coming, c *choice) bool {
		_, ok := x.take(c)
		return ok
	}

	now := time.Unix(0, 0)
	x := &coming{}
	a, b, c := of("a", "1"), of("b", "1"), of("c", "1")
	x.set([]*choice{a, b, c})
	if x.add(of("a", "1"), now) || !x.hasController("b-controller") || x.hasController("b") {
		t.Error("a, b and c are to come as they are")
	}
	other := of("b", "2")
	if !x.add(other, now) || x.add(of("b", "2"), now) || taken(x, b) {
		t.Error("b is to be another one")
	}
	x.keep([]string{"a"})
	if got := names(x); taken(x, c) || taken(x, other) || !slices.Equal(got, []string{"a1"}) {
		t.Error("c and b are to come no more:", got)
	}
	if !taken(x, a) || taken(x, a) {
		t.Error("a comes once")
	}
}

// A plugin that can't be loaded is tried again, at longer and longer intervals; another one in its place at once. It
// isn't waited for.
func TestComingFails(t *testing.T) {
	t.Parallel()
	of := func(core string) *choice {
		return &choice{Found: plugins.Found{Plugin: &plugins.Plugin{Name: "a"}, Manifest: &abi.Manifest{}}, core: core}
	}
	now, x := time.Unix(0, 0), &coming{}
	fails := func(c *choice) {
		t.Helper()
		if !x.add(c, now) {
			t.Fatal("isn't tried at", now.Unix())
		}
		a, ok := x.take(c)
		if !ok {
			t.Fatal("can't be taken")
		}
		if first := x.fail(a, errors.New("no module "+c.core), now); first != (a.pause == firstPause) {
			t.Error("first failure at", now.Unix(), first)
		}
	}

	for _, pause := range []time.Duration{10, 20, 40, 80, 160, 320, 600, 600} {
		fails(of("1"))
		now = now.Add(pause*time.Second - 1)
		if x.add(of("1"), now) {
			t.Fatal("is tried too early, at", now)
		}
		now = now.Add(1)
	}
	now = now.Add(-1)
	if got := x.failures(); len(x.list()) > 0 || !slices.Equal(got, []string{"no module 1"}) {
		t.Error("what failed is told, and not waited for:", got)
	}
	fails(of("2"))
	if got := x.failures(); !slices.Equal(got, []string{"no module 2"}) {
		t.Error(got)
	}
}

// A stranger that can't be loaded is told, and holds nobody; it comes as soon as its file is another one.
func TestStrangerThatCannotBeLoaded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin()
	greedy := func(m *abi.Manifest) { m.Memory = 1 << 30 }
	w.place(greeter(t, "bad", "bad", "", greedy))
	w.eventually("it is told", func(s *state.Status) bool {
		return len(s.LeftOut) == 1 && strings.Contains(s.LeftOut[0], "bytes of memory, but its limit is") && s.Refused == ""
	})

	good := greeter(t, "good", "good", "")
	w.place(good)
	w.runs(good, state.SwapAdded)
	w.made("good")
	w.eventually("it is told still", func(s *state.Status) bool { return len(s.LeftOut) == 1 })

	mended := greeter(t, "bad", "mended", "")
	w.place(mended)
	w.runs(mended, state.SwapAdded)
	w.eventually("nothing is told", func(s *state.Status) bool { return len(s.LeftOut) == 0 })
}
