package golden

import (
	"fmt"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/guest"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/views"
)

const (
	inSuffix  = ".in.yaml"
	outSuffix = ".out.yaml"
)

// Cases are the paths of a folder's cases, by name.
func Cases(folder string) ([]string, error) {
	cases, err := filepath.Glob(filepath.Join(folder, "*"+inSuffix))
	if err != nil {
		return nil, err
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("no cases in %s: a case is a file NAME%s with the objects, the key and the time", folder, inSuffix)
	}
	return cases, nil
}

// Name is a case's name, by its path.
func Name(in string) string { return strings.TrimSuffix(filepath.Base(in), inSuffix) }

// Out is the path of what should come out of a case.
func Out(in string) string { return strings.TrimSuffix(in, inSuffix) + outSuffix }

// Run runs a case and gives what came out as YAML: on objects cut to the declared fields, or on whole ones.
func Run(g guest.Guest, in string, cut bool) (out string, stats guest.Stats, err error) {
	c, err := load(in)
	if err != nil {
		return "", stats, err
	}
	out, stats, err = c.run(g, cut, nil)
	if err != nil {
		return "", stats, fmt.Errorf("%s: %w", in, err)
	}
	return out, stats, nil
}

// run runs the case; with more fields, those are declared too.
func (c *Case) run(g guest.Guest, cut bool, more []abi.View) (_ string, stats guest.Stats, err error) {
	m := g.Manifest()
	index, err := c.controller(m)
	if err != nil {
		return "", stats, err
	}
	settings, err := Settings(m, c.Settings)
	if err != nil {
		return "", stats, err
	}
	if err := g.Configure(settings); err != nil {
		return "", stats, err
	}
	declared := m.Controllers[index]
	switch {
	case !cut:
		if declared, err = Unprojected(declared); err != nil {
			return "", stats, err
		}
	case more != nil:
		declared.Views = more
	}
	plan, err := views.Compile(&declared)
	if err != nil {
		return "", stats, err
	}
	w, err := newWorld(plan, cut, c.Discovery)
	if err != nil {
		return "", stats, err
	}
	read, err := Masks(&m.Controllers[index])
	if err != nil {
		return "", stats, err
	}
	h := &host{c: c, read: read, out: &Output{}}
	for i := range c.Failures {
		c.Failures[i].seen = 0
	}
	for i, raw := range c.Objects {
		o, err := w.object(raw.Raw, i)
		if err != nil {
			return "", stats, fmt.Errorf("objects[%d]: %w", i, err)
		}
		whole := *o
		h.cached = append(h.cached, &whole)
		if err := w.add(o); err != nil {
			return "", stats, fmt.Errorf("objects[%d]: %w", i, err)
		}
	}
	for i, raw := range c.Live {
		o, err := w.object(raw.Raw, 1000+i)
		if err != nil {
			return "", stats, fmt.Errorf("live[%d]: %w", i, err)
		}
		h.live = append(h.live, o)
	}
	var s views.Snapshot
	key := Key(c.Key)
	if err := plan.Snapshot(w, key, &s); err != nil {
		return "", stats, err
	}
	h.snapshot = &s
	r := &abi.SyncRequest{Controller: index, Key: key, Now: c.Now.UnixNano(), Attempt: c.Attempt, State: []byte(c.State)}
	s.Request(r)
	a, stats, err := guest.Call(g, r, h.perform)
	if err != nil {
		return "", stats, err
	}
	if err := h.finish(a, m); err != nil {
		return "", stats, err
	}
	text, err := yaml.Marshal(h.out)
	return string(text), stats, err
}

// Key reads namespace/name or a name; before it may stand a resource and a blank, where keys are of all resources.
func Key(s string) (k abi.KeyRef) {
	if resource, rest, ok := strings.Cut(s, " "); ok {
		k.Resource, s = resource, rest
	}
	if ns, name, ok := strings.Cut(s, "/"); ok {
		k.Namespace, k.Name = ns, name
		return k
	}
	k.Name = s
	return k
}

// resourceOf gives a view's resource; of all resources together, there is nothing but the metadata.
func resourceOf(r abi.Resource) (*schema.Resource, error) {
	if r == schema.Any {
		return schema.Partial(r, "", true), nil
	}
	return schema.Named(r)
}

// Unprojected is the controller with all fields of all objects.
func Unprojected(c abi.Controller) (abi.Controller, error) {
	all := make([]abi.View, len(c.Views))
	copy(all, c.Views)
	for i := range all {
		res, err := resourceOf(all[i].Resource)
		if err != nil {
			return c, err
		}
		all[i].Fields, all[i].Quiet = nil, nil // what wakes doesn't matter here, and may be said of parts of fields only
		for _, f := range res.Message.Fields() {
			all[i].Fields = append(all[i].Fields, f.JSON)
		}
	}
	c.Views = all
	return c, nil
}

var _ views.World = (*world)(nil)
