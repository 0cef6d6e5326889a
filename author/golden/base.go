package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime"
	strictjson "sigs.k8s.io/json"
	kyaml "sigs.k8s.io/yaml"
)

// base is what a file's cases share: its first document. A case has all of it but for what it says otherwise.
type base struct {
	Base       []runtime.RawExtension `json:"base"`
	Controller string                 `json:"controller,omitempty"`
	Key        string                 `json:"key,omitempty"`
	Now        time.Time              `json:"now,omitzero"`
	Settings   map[string]string      `json:"settings,omitempty"`
	Discovery  *Discovery             `json:"discovery,omitempty"`

	objects objectList
}

// readBase reads the base of a file.
func (d *document) readBase() (*base, error) {
	j, err := kyaml.YAMLToJSONStrict(d.paddedText(d.end))
	if err != nil {
		return nil, err
	}
	b := &base{}
	strict, err := strictjson.UnmarshalStrict(j, b)
	for _, e := range strict {
		err = errors.Join(err, d.located(e))
	}
	if err != nil {
		return nil, err
	}
	for i, o := range b.Base {
		if err := b.objects.put(o.Raw); err != nil {
			return nil, fmt.Errorf("base[%d]: %w", i, err)
		}
	}
	return b, nil
}

// takeBase adds to the case what it has of its file's base, which may be nil, and makes objects whole that say only
// what they have otherwise than another one.
func (c *Case) takeBase(b *base) error {
	all := objectList{}
	if b != nil {
		all.objects = slices.Clone(b.objects.objects)
		if c.Controller == "" {
			c.Controller = b.Controller
		}
		if c.Key == "" {
			c.Key = b.Key
		}
		if c.Now.IsZero() {
			c.Now = b.Now
		}
		if c.Settings == nil {
			c.Settings = b.Settings
		}
		if c.Discovery == nil {
			c.Discovery = b.Discovery
		}
	}

	for _, name := range slices.Sorted(maps.Keys(c.Change)) {
		if err := all.change(name, c.Change[name]); err != nil {
			return fmt.Errorf("change: %w", err)
		}
	}
	for _, name := range c.Without {
		i, err := all.find(name)
		if err != nil {
			return fmt.Errorf("without: %w", err)
		}
		all.objects = slices.Delete(all.objects, i, i+1)
	}
	for i, o := range c.Objects {
		if err := all.put(o.Raw); err != nil {
			return fmt.Errorf("objects[%d]: %w", i, err)
		}
	}

	c.Objects = nil
	for _, o := range all.objects {
		c.Objects = append(c.Objects, runtime.RawExtension{Raw: o})
	}
	for i, o := range c.Live {
		raw, err := all.whole(o.Raw)
		if err != nil {
			return fmt.Errorf("live[%d]: %w", i, err)
		}
		c.Live[i].Raw = raw
	}
	return nil
}

// objectList holds objects in JSON, which are found by their kinds and names.
type objectList struct{ objects [][]byte }

// put adds an object.
func (s *objectList) put(raw []byte) error {
	o, err := s.whole(raw)
	if err == nil {
		s.objects = append(s.objects, o)
	}
	return err
}

// whole returns an object whole that says which other one it is like, "KIND NAME", and beside that only what it has
// otherwise: a JSON merge patch. Any other object is returned as it is.
func (s *objectList) whole(raw []byte) ([]byte, error) {
	if !bytes.Contains(raw, []byte(`"like"`)) {
		return raw, nil
	}
	change := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &change); err != nil {
		return nil, err
	}
	var name string
	if change["like"] == nil || json.Unmarshal(change["like"], &name) != nil {
		return raw, nil
	}
	delete(change, "like")
	patch, err := json.Marshal(change)
	if err != nil {
		return nil, err
	}
	i, err := s.find(name)
	if err != nil {
		return nil, fmt.Errorf("like: %w", err)
	}
	return jsonpatch.MergePatch(s.objects[i], patch)
}

// change applies a JSON merge patch to an object.
func (s *objectList) change(name string, patch []byte) error {
	i, err := s.find(name)
	if err != nil {
		return err
	}
	s.objects[i], err = jsonpatch.MergePatch(s.objects[i], patch)
	return err
}

// find returns which object is meant by "KIND NAME" or "KIND NAMESPACE/NAME".
func (s *objectList) find(what string) (int, error) {
	found, names := -1, make([]string, len(s.objects))
	for i, raw := range s.objects {
		o := struct {
			Kind     string `json:"kind"`
			Metadata struct {
				Namespace string `json:"namespace"`
				Name      string `json:"name"`
			} `json:"metadata"`
		}{}
		if err := json.Unmarshal(raw, &o); err != nil {
			return 0, err
		}

		short := o.Kind + " " + o.Metadata.Name
		names[i] = o.Kind + " " + strings.TrimPrefix(o.Metadata.Namespace+"/"+o.Metadata.Name, "/")
		if what != short && what != names[i] {
			continue
		}
		if found >= 0 {
			return 0, fmt.Errorf("%q may be %s or %s: write the namespace before the name", what, names[found], names[i])
		}
		found = i
	}

	if found < 0 {
		return 0, fmt.Errorf("there is no %q here: there are %s", what, strings.Join(names, ", "))
	}
	return found, nil
}
