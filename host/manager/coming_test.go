package manager

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

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
	x := &coming{}
	a, b, c := of("a", "1"), of("b", "1"), of("c", "1")
	x.set([]*choice{a, b, c})
	if !x.awaits(of("a", "1")) || x.awaits(of("d", "1")) || !x.hasController("b-controller") || x.hasController("b") {
		t.Error("a, b and c are to come as they are")
	}
	if x.awaits(of("b", "2")) || x.take(b) {
		t.Error("b is to be another one")
	}
	x.keep([]string{"a"})
	if x.take(c) || !slices.Equal(x.list(), []*choice{a}) {
		t.Error("c is to come no more")
	}
	if !x.take(a) || x.take(a) {
		t.Error("a comes once")
	}
}
