package differential

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/windlass-dev/windlass/author/golden"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
)

// wakesDigest is the environment variable in which hack/rings.sh has a digest of all wakes*.yaml. Go's cache of test
// results doesn't know of these files, which are outside of the module; that a variable which a test has asked for is
// another one, it does.
const wakesDigest = "WAKES_DIGEST"

// Wakes shows upstream's controller the events of the plugin's own wakes*.yaml and fails the test where it wakes other
// keys than the file says: those of upstream, or where there are none those that the plugin wakes, which conformance
// checks. So each event on which the two part is in the file, with the reason.
func Wakes(t *testing.T, s *Subject) {
	t.Helper()
	_ = os.Getenv(wakesDigest)
	server, err := api.NewServer()
	if err != nil {
		t.Fatal(err)
	}

	files, err := golden.WakesFiles(filepath.Join("..", "..", "plugins", s.Plugin.Name, "testdata"))
	if err != nil {
		t.Fatal(err)
	}

	several := len(s.Plugin.Manifest().Controllers) > 1
	compared := 0
	for _, file := range files {
		w, err := golden.LoadWakings(file)
		if err != nil {
			t.Fatal(err)
		}
		if several && w.Controller != s.Controller {
			continue
		}
		for i := range w.Events {
			e := &w.Events[i]
			compared++
			t.Run(e.What, func(t *testing.T) {
				var woken []string
				synctest.Test(t, func(t *testing.T) { woken, err = s.wakesUpstream(server, w, e) })
				if err != nil {
					t.Fatal(err)
				}
				if theirs := slices.Sorted(slices.Values(e.Theirs())); !slices.Equal(woken, theirs) {
					t.Errorf("upstream's controller wakes %v, and %s says %v", woken, filepath.Base(file), theirs)
				}
			})
		}
	}
	if compared == 0 {
		t.Errorf("no wakes file of plugins/%s is about %s", s.Plugin.Name, s.Controller)
	}
}

// wakesUpstream returns the keys that an event wakes upstream's controller for, at once or later, sorted.
func (s *Subject) wakesUpstream(server *api.Server, w *golden.Wakings, e *golden.Waking) ([]string, error) {
	h, err := w.Happen(e)
	if err != nil {
		return nil, err
	}

	n, err := native.New(server.NewCluster(), 1, s.Native)
	if err != nil {
		return nil, err
	}
	defer n.Close()
	for i, o := range h.Objects {
		if _, err := n.Show(&api.Change{New: o, Version: uint64(i + 1)}, true); err != nil {
			return nil, fmt.Errorf("objects[%d]: %w", i, err)
		}
	}

	keys, err := n.Show(&api.Change{Old: h.Old, New: h.New, Version: 1001}, e.Start)
	for key := range n.Queue.After {
		keys = append(keys, key)
	}

	for key, tried := range n.Queue.Limited {
		if tried {
			keys = append(keys, key)
		}
	}

	for i := range keys {
		keys[i] = strings.TrimPrefix(s.key(keys[i]), "/")
	}
	slices.Sort(keys)
	return slices.Compact(keys), err
}
