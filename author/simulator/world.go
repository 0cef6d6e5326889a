package simulator

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/windlass-dev/windlass/abi"
)

// World is what a simulation begins with, and what people do in it later.
type World struct {
	// Now is the time at which it begins; times in the objects are relative to it.
	Now     time.Time         `json:"now,omitzero"`
	Objects []json.RawMessage `json:"objects"`
	Then    []Deed            `json:"then,omitempty"`
	// Until is for how long the clock goes on after each of these, such as 72h, for controllers that do something again
	// and again. Without it the clock goes on as long as something changes, by at most a day at once.
	Until *metav1.Duration `json:"until,omitempty"`
}

// Deed is something that somebody does: an object that is added, or one that is changed by a JSON merge patch or
// deleted.
type Deed struct {
	What string          `json:"what,omitempty"`
	Add  json.RawMessage `json:"add,omitempty"`
	// such as Deployment default/web, or Deployment web where only one is called so
	Of     string          `json:"of,omitempty"`
	Change json.RawMessage `json:"change,omitempty"`
	Delete bool            `json:"delete,omitempty"`
	// Settled has it done only when all has settled, in runs out of order too: for what ends otherwise when it comes
	// earlier.
	Settled bool `json:"settled,omitempty"`
}

func (d *Deed) String() string {
	switch {
	case d.What != "":
		return d.What
	case d.Delete:
		return "delete " + d.Of
	case d.Of != "":
		return "change " + d.Of + " by " + string(d.Change)
	}
	if o, err := parseJSON(d.Add); err == nil {
		return "add " + describeObject(o)
	}
	return "add an object"
}

// begin is when simulations begin whose world says nothing.
var begin = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// ReadWorld reads a world's file.
func ReadWorld(path string) (*World, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	w, err := ParseWorld(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return w, nil
}

// ParseWorld reads a world, in YAML.
func ParseWorld(b []byte) (*World, error) {
	w := &World{}
	if err := yaml.UnmarshalStrict(b, w); err != nil {
		return nil, err
	}
	if len(w.Objects) == 0 {
		return nil, fmt.Errorf("the world has no objects: a simulation begins with at least one")
	}
	if w.Until != nil && w.Until.Duration <= 0 {
		return nil, fmt.Errorf("until: %s: must be more than 0, such as 72h", w.Until.Duration)
	}
	for i, d := range w.Then {
		if (d.Add == nil) == (d.Of == "") || d.Of != "" && !d.Delete && d.Change == nil {
			return nil, fmt.Errorf("then[%d]: give `add` an object, or `of` with `change` or `delete`", i)
		}
	}
	return w, nil
}

// ReadManifests reads the objects in YAML files, and in those of folders; several stand in one file between lines of
// ---.
func ReadManifests(paths ...string) (all []json.RawMessage, err error) {
	for _, path := range paths {
		files := []string{path}
		if info, err := os.Stat(path); err != nil {
			return nil, err
		} else if info.IsDir() {
			if files, err = filepath.Glob(filepath.Join(path, "*.yaml")); err != nil {
				return nil, err
			}
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			for i, doc := range regexp.MustCompile(`(?m)^---.*$`).Split(string(b), -1) {
				j, err := yaml.YAMLToJSONStrict([]byte(doc))
				if err != nil {
					return nil, fmt.Errorf("%s: document %d: %w", file, i+1, err)
				}
				if string(j) == "null" {
					continue
				}

				o, err := parseJSON(j)
				if err != nil {
					return nil, fmt.Errorf("%s: document %d: %w", file, i+1, err)
				}

				if items, ok := o.Object["items"].([]any); ok && strings.HasSuffix(o.GetKind(), "List") {
					for _, item := range items {
						b, err := json.Marshal(item)
						if err != nil {
							return nil, err
						}
						all = append(all, b)
					}
					continue
				}
				all = append(all, j)
			}
		}
	}
	return all, nil
}

var instants = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"`)

// shiftTimes moves all times in JSON.
func shiftTimes(b []byte, by time.Duration) []byte {
	if by == 0 {
		return b
	}
	return instants.ReplaceAllFunc(b, func(quoted []byte) []byte {
		t, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(quoted))
		if err != nil {
			return quoted
		}
		layout := time.RFC3339
		if strings.Contains(string(quoted), ".") {
			layout = "2006-01-02T15:04:05.000000Z07:00"
		}
		return []byte(`"` + t.Add(by).Format(layout) + `"`)
	})
}

var definitionsResource = abi.Resource{Group: "apiextensions.k8s.io", Version: "v1", Name: "customresourcedefinitions"}

// populate puts the objects of a world into the cluster: definitions first, then namespaces, which are made where they
// are missing.
func (c *Cluster) populate(objects []json.RawMessage, by time.Duration) error {
	var plain []*Object
	for i, raw := range objects {
		j, err := yaml.YAMLToJSONStrict(raw)
		if err != nil {
			return fmt.Errorf("objects[%d]: %w", i, err)
		}
		o, err := parseJSON(shiftTimes(j, by))
		if err != nil {
			return fmt.Errorf("objects[%d]: %w", i, err)
		}
		if o.GetKind() == "CustomResourceDefinition" {
			if err := c.Define(o); err != nil {
				return err
			}
			continue
		}
		plain = append(plain, o)
	}
	slices.SortStableFunc(plain, func(a, b *Object) int { return addOrder(a) - addOrder(b) })
	for _, o := range plain {
		if _, err := c.addObject(o); err != nil {
			return err
		}
	}
	return nil
}

func addOrder(o *Object) int {
	if o.GetKind() == "Namespace" && o.GetAPIVersion() == "v1" {
		return 0
	}
	return 1
}

// addObject puts an object in as it is, status included. A UID, a creation time and owners' UIDs that aren't given are
// filled in.
func (c *Cluster) addObject(o *Object) (*Object, error) {
	k, err := c.findKind(o.GetAPIVersion(), o.GetKind())
	if err != nil {
		return nil, err
	}
	if o.GetName() == "" && o.GetGenerateName() == "" {
		return nil, fmt.Errorf("a %s has no metadata.name", o.GetKind())
	}

	if k.namespaced {
		if o.GetNamespace() == "" {
			o.SetNamespace(metav1.NamespaceDefault)
		}
		if exists, _ := c.namespace(o.GetNamespace()); !exists {
			ns := &Object{Object: map[string]any{}}
			ns.SetName(o.GetNamespace())
			if _, err := c.createObject(&write{by: others, verb: "create", kind: c.kinds[namespaces], object: ns}); err != nil {
				return nil, err
			}
		}
	}

	refs := o.GetOwnerReferences()
	for i := range refs {
		if refs[i].UID != "" {
			continue
		}
		of, err := c.findKind(refs[i].APIVersion, refs[i].Kind)
		if err != nil {
			return nil, fmt.Errorf("%s: metadata.ownerReferences[%d]: %w", describeObject(o), i, err)
		}
		owner := c.getObject(of.Resource, o.GetNamespace(), refs[i].Name)
		if owner == nil {
			owner = c.getObject(of.Resource, "", refs[i].Name)
		}
		if owner == nil {
			return nil, fmt.Errorf("%s: metadata.ownerReferences[%d]: there is no %s %s before it in the world: put the owner first, or give a uid", describeObject(o), i, refs[i].Kind, refs[i].Name)
		}
		refs[i].UID = owner.GetUID()
	}
	if len(refs) > 0 {
		o.SetOwnerReferences(refs)
	}

	uid, created := o.GetUID(), o.GetCreationTimestamp()
	o.SetResourceVersion("")
	made, err := c.createObject(&write{by: others, verb: "create", kind: k, namespace: o.GetNamespace(), object: o})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", describeObject(o), err)
	}

	whole, err := k.canonical(o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", describeObject(o), err)
	}

	changed := made.DeepCopy()
	if status, has := whole.Object["status"]; has {
		changed.Object["status"] = deepCopy(status)
	}

	if uid != "" {
		changed.SetUID(uid)
	}
	if !created.IsZero() {
		changed.SetCreationTimestamp(created)
	}
	return c.putObject(k, made, changed), nil
}

// findNamed finds the object that a deed is about.
func (c *Cluster) findNamed(of string) (*Object, *kind, error) {
	kindName, rest, ok := strings.Cut(of, " ")
	namespace, n, spaced := strings.Cut(rest, "/")
	if !spaced {
		namespace, n = "", rest
	}

	var found *Object
	var k *kind
	objects, kinds := c.everything()
	for i, o := range objects {
		if o.GetKind() != kindName || o.GetName() != n || spaced && o.GetNamespace() != namespace {
			continue
		}
		if found != nil {
			return nil, nil, fmt.Errorf("%q can be %s or %s: write Kind namespace/name", of, describeObject(found),
				describeObject(o))
		}
		found, k = o, kinds[i]
	}
	if !ok || !slices.ContainsFunc(slices.Collect(maps.Values(c.kinds)),
		func(k *kind) bool { return k.kind == kindName }) {
		return nil, nil, fmt.Errorf("there is no kind of %q: say Kind name, or Kind namespace/name", of)
	}
	if found == nil {
		return nil, nil, apierrors.NewNotFound(apischema.GroupResource{Resource: kindName}, rest)
	}
	return found, k, nil
}

// canPerform reports whether there is what a deed is about.
func (c *Cluster) canPerform(d *Deed) bool {
	if d.Add != nil {
		return true
	}
	_, _, err := c.findNamed(d.Of)
	return !apierrors.IsNotFound(err)
}

// performDeed does a deed. One about an object that is gone is none: in a disturbed run it may have gone earlier.
func (c *Cluster) performDeed(d *Deed, by time.Duration) error {
	if d.Add != nil {
		o, err := parseJSON(shiftTimes(d.Add, by))
		if err != nil {
			return err
		}
		_, err = c.addObject(o)
		return err
	}

	old, k, err := c.findNamed(d.Of)
	if err != nil {
		return err
	}
	if d.Delete {
		return c.deleteObject(k, old, &metav1.DeleteOptions{})
	}

	before, err := json.Marshal(old.Object)
	if err != nil {
		return err
	}

	after, err := jsonpatch.MergePatch(before, shiftTimes(d.Change, by))
	if err != nil {
		return err
	}

	o, err := parseJSON(after)
	if err != nil {
		return err
	}

	w := &write{by: others, verb: "patch", kind: k, namespace: old.GetNamespace(), name: old.GetName()}
	made, err := c.replace(w, old, o)
	if err != nil || !k.status {
		return err
	}
	w.subresource = "status"
	_, err = c.replace(w, made, o)
	return err
}
