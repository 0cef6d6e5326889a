package golden

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/author/guest"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/syncer"
)

// Wakings are events in a world, each with the keys that it wakes.
type Wakings struct {
	Controller string                 `json:"controller,omitempty"`
	Settings   map[string]string      `json:"settings,omitempty"`
	Objects    []runtime.RawExtension `json:"objects"`
	Discovery  *Discovery             `json:"discovery,omitempty"`
	// Synced are keys that were synced before each event: where a view is lazy, or a count, what wakes depends on it. The
	// time of these syncs is the beginning of 1970, and what they write isn't there.
	Synced []string `json:"synced,omitempty"`
	Events []Waking `json:"events"`

	defined []*schema.Resource // by the plugin's folder crd
}

// Waking is one event: an object that is added, or one of the world's by kind and name ("Pod web-a") that is changed by
// a JSON merge patch or deleted.
type Waking struct {
	What   string                `json:"what"`
	Add    *runtime.RawExtension `json:"add,omitempty"`
	Of     string                `json:"of,omitempty"`
	Change json.RawMessage       `json:"change,omitempty"`
	Delete bool                  `json:"delete,omitempty"`
	Own    bool                  `json:"own,omitempty"`     // the controller's own write
	Start  bool                  `json:"initial,omitempty"` // found when the informer started
	Wakes  []string              `json:"wakes"`
	// Upstream are the keys that the controller which this one takes the place of wakes, where those are others, and Why
	// says why they are.
	Upstream []string `json:"upstream,omitempty"`
	Why      string   `json:"why,omitempty"`
}

// Theirs are the keys that the controller which this one takes the place of wakes.
func (e *Waking) Theirs() []string {
	if e.Upstream != nil {
		return e.Upstream
	}
	return e.Wakes
}

// checkUpstream checks that what is said of the other controller is worth saying, and has a reason.
func (e *Waking) checkUpstream() error {
	switch same := slices.Equal(slices.Sorted(slices.Values(e.Upstream)), slices.Sorted(slices.Values(e.Wakes))); {
	case e.Upstream == nil && e.Why != "":
		return errors.New("why is set without upstream: it gives the reason for upstream")
	case e.Upstream != nil && same:
		return errors.New("upstream is the same as wakes: leave it out")
	case e.Upstream != nil && e.Why == "":
		return errors.New("upstream differs from wakes: give the reason in why")
	}
	return nil
}

// Woken is what came of an event.
type Woken struct {
	What string
	// Wrong says how it wakes otherwise than the file has it, empty if it doesn't.
	Wrong string
}

// WakesFiles returns the files of a folder that have events: wakes.yaml, and those of wakes-*.yaml.
func WakesFiles(folder string) (found []string, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	for _, file := range files {
		if wakesFile.MatchString(filepath.Base(file)) {
			found = append(found, file)
		}
	}

	return found, err
}

// CheckWakes makes the events of a file happen and returns what came of each.
func CheckWakes(g guest.Guest, file string) (all []Woken, err error) {
	w, err := LoadWakings(file)
	if err != nil {
		return nil, err
	}
	if len(w.Events) == 0 {
		return nil, fmt.Errorf("%s: the file has no events", file)
	}

	for i := range w.Events {
		e := &w.Events[i]
		if err := e.checkUpstream(); err != nil {
			return nil, fmt.Errorf("%s: events[%d] (%s): %w", file, i, e.What, err)
		}
		woken, err := w.Wake(g, e)
		if err != nil {
			return nil, fmt.Errorf("%s: events[%d] (%s): %w", file, i, e.What, err)
		}
		x := Woken{What: e.What}
		if slices.Sort(e.Wakes); !slices.Equal(woken, e.Wakes) {
			x.Wrong = fmt.Sprintf("wakes %v, should wake %v", woken, e.Wakes)
		}
		all = append(all, x)
	}

	return all, nil
}

// LoadWakings reads a file of events.
func LoadWakings(file string) (*Wakings, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	w := &Wakings{}
	if w.defined, err = definitions(filepath.Dir(file)); err != nil {
		return nil, err
	}
	if err := yaml.UnmarshalStrict(b, w); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return w, nil
}

// Wake makes an event happen in a world of its own and returns the keys of the controller that it wakes, sorted.
func (w *Wakings) Wake(g guest.Guest, e *Waking) ([]string, error) {
	h, err := w.Happen(e)
	if err != nil {
		return nil, err
	}

	c := &Case{Controller: w.Controller, Settings: w.Settings, Objects: w.Objects, Discovery: w.Discovery,
		defined: w.defined}
	s, err := c.stage(g, true, nil)
	if err != nil {
		return nil, err
	}
	for _, key := range w.Synced {
		if _, _, err := s.sync(&syncer.Turn{Key: Key(key), Now: time.Unix(0, 0)}); err != nil {
			return nil, fmt.Errorf("the sync of %s: %w", key, err)
		}
	}

	around := s.world
	event := cache.Event{Initial: e.Start}
	if h.Old != nil {
		if event.Old, err = around.storeObject(h.Old); err != nil {
			return nil, err
		}
		event.Resource = event.Old.Resource
	}

	if h.New != nil {
		if event.New, err = around.storeObject(h.New); err != nil {
			return nil, err
		}
		event.Resource = event.New.Resource
	} else if s := around.stores[event.Resource.Resource]; s != nil {
		if err := s.Delete(event.Old); err != nil {
			return nil, err
		}
	}

	woken := []string{}
	s.plan.Wakes(around, event, func(cache.Event) bool { return e.Own }, func(k abi.KeyRef, _ time.Duration) {
		woken = append(woken, strings.TrimSpace(k.Resource+" "+strings.TrimPrefix(k.Namespace+"/"+k.Name, "/")))
	})
	slices.Sort(woken)
	return slices.Compact(woken), nil
}

// Happening is an event as objects: one that comes has no Old, one that goes no New.
type Happening struct {
	// Objects are all that were there before.
	Objects  []runtime.Object
	Old, New runtime.Object
}

// Happen reads the world's objects and what an event makes of them.
func (w *Wakings) Happen(e *Waking) (*Happening, error) {
	kinds, err := kindsOf(servedResources(w.Discovery, w.defined))
	if err != nil {
		return nil, err
	}

	h := &Happening{}
	all := objectList{}
	for i, raw := range w.Objects {
		_, o, err := kinds.readObject(raw.Raw, i)
		if err != nil {
			return nil, fmt.Errorf("objects[%d]: %w", i, err)
		}
		h.Objects = append(h.Objects, o)
		all.objects = append(all.objects, raw.Raw)
	}
	const version = 1000 // later than those of the world's objects
	if e.Add != nil {
		_, h.New, err = kinds.readObject(e.Add.Raw, version)
		return h, err
	}

	i, err := all.find(e.Of)
	if err != nil {
		return nil, err
	}
	h.Old = h.Objects[i]
	if e.Delete {
		return h, nil
	}
	changed, err := jsonpatch.MergePatch(all.objects[i], e.Change)
	if err != nil {
		return nil, err
	}
	_, h.New, err = kinds.readObject(changed, i+version)
	return h, err
}
