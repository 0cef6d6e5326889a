package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/views"
	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/test/module"
)

var update = flag.Bool("update", false, "write the golden outputs")

// Run runs all cases of a folder.
func Run(t *testing.T, p *sdk.Plugin, folder string) {
	t.Helper()
	each(t, folder, func(t *testing.T, in string) { run(t, p, in) })
}

func each(t *testing.T, folder string, f func(t *testing.T, in string)) {
	t.Helper()
	cases, err := filepath.Glob(filepath.Join(folder, "*.in.yaml"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases in %s: %v", folder, err)
	}
	for _, in := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(in), ".in.yaml"), func(t *testing.T) { f(t, in) })
	}
}

func run(t *testing.T, p *sdk.Plugin, in string) {
	projected, whole := sync(t, p, in, true, sdk.Run), sync(t, p, in, false, sdk.Run)
	if d := cmp.Diff(whole, projected); d != "" {
		t.Fatalf("on the declared fields alone the plugin answers otherwise than on whole objects: declare what it reads (-whole +projected):\n%s", d)
	}
	out := strings.TrimSuffix(in, ".in.yaml") + ".out.yaml"
	if *update {
		if err := os.WriteFile(out, []byte(projected), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(out)
	if err != nil {
		t.Fatalf("%v: run go test with -update, then read what it wrote", err)
	}
	if d := cmp.Diff(string(want), projected); d != "" {
		t.Fatalf("%s (-want +got):\n%s", out, d)
	}
}

// runner runs one sync, as sdk.Run does.
type runner = func(*sdk.Plugin, *abi.SyncRequest, *sdk.Settings, module.Perform) *abi.SyncResponse

// sync runs a case and gives what came out as YAML.
func sync(t *testing.T, p *sdk.Plugin, in string, cut bool, with runner) string {
	c, err := load(in)
	if err != nil {
		t.Fatal(err)
	}
	m := p.Manifest()
	index, err := c.controller(p, m)
	if err != nil {
		t.Fatalf("%s: %v", in, err)
	}
	settings, err := c.settings(p)
	if err != nil {
		t.Fatalf("%s: %v", in, err)
	}
	declared := m.Controllers[index]
	if !cut {
		declared = unprojected(t, declared)
	}
	plan, err := views.Compile(&declared)
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWorld(plan, cut, c.Discovery)
	if err != nil {
		t.Fatal(err)
	}
	read, err := masks(&m.Controllers[index])
	if err != nil {
		t.Fatal(err)
	}
	h := &host{c: c, read: read, out: &Output{}}
	for i, raw := range c.Objects {
		o, err := w.object(raw.Raw, i)
		if err != nil {
			t.Fatalf("%s: objects[%d]: %v", in, i, err)
		}
		whole := *o
		h.cached = append(h.cached, &whole)
		if err := w.add(o); err != nil {
			t.Fatalf("%s: objects[%d]: %v", in, i, err)
		}
	}
	for i, raw := range c.Live {
		o, err := w.object(raw.Raw, 1000+i)
		if err != nil {
			t.Fatalf("%s: live[%d]: %v", in, i, err)
		}
		h.live = append(h.live, o)
	}
	var s views.Snapshot
	key := keyOf(c.Key)
	if err := plan.Snapshot(w, key, &s); err != nil {
		t.Fatalf("%s: %v", in, err)
	}
	h.snapshot = &s
	r := &abi.SyncRequest{Controller: index, Key: key, Now: c.Now.UnixNano(), Attempt: c.Attempt, State: []byte(c.State)}
	s.Request(r)
	a := with(p, r, settings, h.perform)
	if err := h.finish(a, m); err != nil {
		t.Fatalf("%s: %v", in, err)
	}
	text, err := yaml.Marshal(h.out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// keyOf reads namespace/name or a name; before it may stand a resource and a blank, where keys are of all resources.
func keyOf(s string) (k abi.KeyRef) {
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
	return schema.For(r)
}

// unprojected is the controller with all fields of all objects.
func unprojected(t *testing.T, c abi.Controller) abi.Controller {
	all := make([]abi.View, len(c.Views))
	copy(all, c.Views)
	for i := range all {
		res, err := resourceOf(all[i].Resource)
		if err != nil {
			t.Fatal(err)
		}
		all[i].Fields, all[i].Quiet = nil, nil // what wakes doesn't matter here, and may be said of parts of fields only
		for _, f := range res.Message.Fields() {
			all[i].Fields = append(all[i].Fields, f.JSON)
		}
	}
	c.Views = all
	return c
}

var _ views.World = (*world)(nil)
