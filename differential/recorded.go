package differential

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/world"
)

// A world that has shown a bug is a file, in the folder worlds of its subject: what is there and what happens then stay
// as they were whatever becomes of the generator. RECORD=file with SEED, WORLDS=1 and the form (LATE=1, HOSTED=1)
// writes one.

// recordedFolder is where a subject's recorded worlds are.
const recordedFolder = "worlds"

// Recorded is a world in a file.
type Recorded struct {
	// Controller is the subject that is played on it; "": the only one in its folder.
	Controller string `json:"controller,omitempty"`
	// Shows says which bug it has shown.
	Shows string `json:"shows"`
	// Form is how it is played: "" sync by sync, late or hosted.
	Form string `json:"form,omitempty"`
	// Seed is what else is chance: the order of keys, what is refused, how late caches are.
	Seed    uint64                 `json:"seed"`
	Objects []runtime.RawExtension `json:"objects"`
	Steps   []RecordedStep         `json:"steps,omitempty"`
}

// RecordedStep is what happens in a step.
type RecordedStep struct {
	Deed    string           `json:"deed"`
	Takes   metav1.Duration  `json:"takes,omitzero"` // time that passes first
	Changes []RecordedChange `json:"changes,omitempty"`
}

// RecordedChange is one of the changes to objects: one is made, changed as a merge patch says, or gone.
type RecordedChange struct {
	// Resource is as 'pods.v1' or 'jobs.v1.batch'.
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	// Name is the object's, and Nth which of the namespace's it was in the order of their names, for the name may be one
	// that a controller makes up.
	Name   string                `json:"name,omitempty"`
	Nth    int                   `json:"nth,omitempty"`
	Made   *runtime.RawExtension `json:"made,omitempty"`
	Change json.RawMessage       `json:"change,omitempty"`
	Gone   bool                  `json:"gone,omitempty"`
}

// record returns a world that is to be taken down.
func (s *Subject) record(seed uint64) *Recorded {
	w := &Recorded{Controller: s.Controller, Shows: "what went wrong in it", Seed: seed}
	switch {
	case s.hosted:
		w.Form = "hosted"
	case s.late:
		w.Form = "late"
	}
	return w
}

// forms are the forms in which worlds are played.
var forms = []string{"", "late", "hosted"}

// hostedPlays is how often a recorded world is played under the host, where which goroutine is first is chance.
const hostedPlays = 20

// recorded plays a subject's recorded worlds.
func (s *Subject) recorded(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(recordedFolder, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		w, err := readRecorded(file)
		if err != nil {
			t.Fatal(err)
		}
		if w.Controller != "" && w.Controller != s.Controller {
			continue
		}

		t.Run(file, func(t *testing.T) {
			x, err := w.script()
			if err != nil {
				t.Fatal(err)
			}
			own := *s
			own.late, own.hosted = w.Form == "late", w.Form == "hosted"
			plays := 1
			if own.hosted {
				plays = hostedPlays
			}
			for i := 0; i < plays && !t.Failed(); i++ {
				own.onScript(t, x)
			}
		})
	}
}

// onScript compares a subject on one world.
func (s *Subject) onScript(t *testing.T, x *script) {
	t.Helper()
	server, err := api.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	if s.known, err = readKnown(s.Controller); err != nil {
		t.Fatal(err)
	}
	d, _, err := s.inBubble(t, server, x, s.known.has)
	if err != nil {
		t.Fatal(err)
	}
	if d == nil {
		return
	}
	v, why, err := s.judge(t, server, d, s.known.has)
	if err != nil {
		t.Fatal(err)
	}
	if v == differs {
		t.Errorf("%v\n# %s", d, why)
	}
}

func readRecorded(file string) (*Recorded, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	w := &Recorded{}
	if err := yaml.UnmarshalStrict(b, w); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if w.Shows == "" || len(w.Objects) == 0 || !slices.Contains(forms, w.Form) {
		return nil, fmt.Errorf("%s: shows and objects must be set, and form be one of %q", file, forms)
	}
	return w, nil
}

// script is the world as it is played.
func (w *Recorded) script() (*script, error) {
	x := &script{seed: w.Seed, steps: len(w.Steps), happens: w.Steps}
	for i := range w.Objects {
		o, _, err := scheme.Codecs.UniversalDeserializer().Decode(w.Objects[i].Raw, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("objects[%d]: %w", i, err)
		}
		x.objects = append(x.objects, o)
	}
	return x, nil
}

// write writes the world to a file.
func (w *Recorded) write(file string) error {
	b, err := yaml.Marshal(w)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, b, 0o644)
}

// begin takes down the objects that a world begins with.
func (w *Recorded) begin(objects []runtime.Object) error {
	if w.Objects != nil {
		return nil // the other controller's
	}
	for _, o := range objects {
		kinds, _, err := scheme.Scheme.ObjectKinds(o)
		if err != nil {
			return err
		}
		o = o.DeepCopyObject()
		o.GetObjectKind().SetGroupVersionKind(kinds[0])
		b, err := json.Marshal(o)
		if err != nil {
			return err
		}
		w.Objects = append(w.Objects, runtime.RawExtension{Raw: b})
	}
	return nil
}

// deed does what others do to the cluster in a step: what is recorded, or what chance has.
func (s *Subject) deed(x *script, step int, r *world.Rand, c *api.Cluster) (string, error) {
	deeds := s.Deeds
	which := r.IntN(len(deeds))
	if x.happens != nil {
		h := &x.happens[step-1]
		return h.Deed, h.happen(c)
	}
	if x.record == nil || len(x.record.Steps) != step-1 {
		return deeds[which](r, c)
	}

	begun, before := time.Now(), recordableOf(c)
	what, err := deeds[which](r, c)
	if err != nil {
		return "", err
	}
	h := RecordedStep{Deed: what, Takes: metav1.Duration{Duration: time.Since(begun)}}
	if h.Changes, err = changesBetween(before, recordableOf(c)); err != nil {
		return "", err
	}
	x.record.Steps = append(x.record.Steps, h)
	return what, nil
}

// recordable is an object as it is recorded.
type recordable struct {
	resource, namespace, name string
	nth                       int
	json                      []byte
}

func recordableOf(c *api.Cluster) (all []recordable) {
	for _, gvr := range c.Resources() {
		objects, err := c.List(gvr)
		if err != nil {
			continue
		}
		nth := map[string]int{}
		for _, o := range objects {
			o = o.DeepCopyObject()
			m := o.(metav1.Object)
			m.SetResourceVersion("")
			b, err := json.Marshal(o)
			if err != nil {
				continue
			}
			all = append(all, recordable{resourceText(gvr), m.GetNamespace(), m.GetName(), nth[m.GetNamespace()], b})
			nth[m.GetNamespace()]++
		}
	}
	return all
}

func resourceText(gvr schema.GroupVersionResource) string {
	return strings.TrimSuffix(gvr.Resource+"."+gvr.Version+"."+gvr.Group, ".")
}

// changesBetween returns what has become of objects: what has changed, what is gone, the last first, and what is new.
// So each has its place among the others when it is its turn.
func changesBetween(before, after []recordable) (all []RecordedChange, err error) {
	find := func(in []recordable, o *recordable) *recordable {
		i := slices.IndexFunc(in, func(x recordable) bool {
			return x.resource == o.resource && x.namespace == o.namespace && x.name == o.name
		})
		if i < 0 {
			return nil
		}
		return &in[i]
	}

	var gone []RecordedChange
	for i := range before {
		o := &before[i]
		c := RecordedChange{Resource: o.resource, Namespace: o.namespace, Name: o.name, Nth: o.nth}
		now := find(after, o)
		switch {
		case now == nil:
			c.Gone = true
			gone = append(gone, c)
			continue
		case reflect.DeepEqual(now.json, o.json):
			continue
		default:
			if c.Change, err = jsonpatch.CreateMergePatch(o.json, now.json); err != nil {
				return nil, err
			}
		}
		all = append(all, c)
	}
	slices.Reverse(gone)
	all = append(all, gone...)
	for i := range after {
		if o := &after[i]; find(before, o) == nil {
			all = append(all, RecordedChange{Resource: o.resource, Namespace: o.namespace,
				Made: &runtime.RawExtension{Raw: o.json}})
		}
	}
	return all, nil
}

// happen does in a cluster what a recorded step says.
func (h *RecordedStep) happen(c *api.Cluster) error {
	time.Sleep(h.Takes.Duration)
	for i := range h.Changes {
		if err := h.Changes[i].happen(c); err != nil {
			return fmt.Errorf("%s: changes[%d]: %w", h.Deed, i, err)
		}
	}
	return nil
}

func (h *RecordedChange) happen(c *api.Cluster) error {
	if h.Made != nil {
		o, _, err := scheme.Codecs.UniversalDeserializer().Decode(h.Made.Raw, nil, nil)
		if err != nil {
			return err
		}
		if err := c.Add(o); err != nil && !refusal(err) {
			return err
		}
		return nil
	}

	gvr, name, err := h.find(c)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // the controller hasn't made it this time
	case err != nil:
		return err
	case h.Gone:
		return c.Remove(gvr, h.Namespace, name)
	}
	var wrong error
	err = c.Change(gvr, h.Namespace, name, func(o runtime.Object) {
		wrong = h.change(o)
	})
	return errors.Join(wrong, err)
}

// change merges the change into an object, but for what names it.
func (h *RecordedChange) change(o runtime.Object) error {
	was, err := json.Marshal(o)
	if err != nil {
		return err
	}
	now, err := jsonpatch.MergePatch(was, h.Change)
	if err != nil {
		return err
	}
	v := reflect.ValueOf(o).Elem()
	version := o.(metav1.Object).GetResourceVersion()
	v.SetZero()
	if err := json.Unmarshal(now, o); err != nil {
		return err
	}
	o.(metav1.Object).SetResourceVersion(version)
	return nil
}

// find returns the object that is changed: that of its name, or which takes its place.
func (h *RecordedChange) find(c *api.Cluster) (gvr schema.GroupVersionResource, name string, err error) {
	for _, gvr := range c.Resources() {
		if resourceText(gvr) != h.Resource {
			continue
		}
		objects, err := c.List(gvr)
		if err != nil {
			return gvr, "", err
		}
		var names []string
		for _, o := range objects {
			if m := o.(metav1.Object); m.GetNamespace() == h.Namespace {
				names = append(names, m.GetName())
			}
		}
		if slices.Contains(names, h.Name) {
			return gvr, h.Name, nil
		}
		if h.Nth < len(names) {
			return gvr, names[h.Nth], nil
		}
		return gvr, "", fs.ErrNotExist
	}
	return gvr, "", fmt.Errorf("there is no resource %s", h.Resource)
}
