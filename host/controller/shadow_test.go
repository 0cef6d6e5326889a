package controller

import (
	"errors"
	"strings"
	"testing"

	upstream "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/author/guest"
	"github.com/windlass-dev/windlass/author/guest/guesttest"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/schema/schematest"
	"github.com/windlass-dev/windlass/host/syncer"
	"github.com/windlass-dev/windlass/host/views"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// A shadow's syncs differ where it does otherwise than the live version, and nowhere else: where it asks for less, or
// fails as that does, they are the same.
func TestShadow(t *testing.T) {
	type step = func(c *sdk.Call) error
	all := func(steps ...step) step {
		return func(c *sdk.Call) error {
			for _, s := range steps {
				if err := s(c); err != nil {
					return err
				}
			}
			return nil
		}
	}
	publish := func(text string) step { return func(c *sdk.Call) error { return c.Publish([]byte(text), "term") } }
	ask := func(c *sdk.Call) error { _, err := c.Facts("n", "term"); return err }
	says := func(text string) step { return func(*sdk.Call) error { return errors.New(text) } }
	panics := func(*sdk.Call) error { panic("it panics") }

	for name, x := range map[string]struct {
		live, shadow step
		want         string // part of the difference; empty: there is none
	}{
		"nothing to do":         {all(), all(), ""},
		"the same performs":     {all(ask, publish("a")), all(ask, publish("a")), ""},
		"another answer":        {all(says("a")), all(says("b")), "-error: a"},
		"it asks for less":      {all(publish("a"), ask), all(publish("a")), ""},
		"it performs less":      {all(publish("a")), all(), "-- do: publish"},
		"it performs something": {all(), all(publish("a")), "+- do: publish"},
		"it performs otherwise": {all(publish("a")), all(publish("b")), "do: publish"},
		"it panics":             {all(), panics, "+ panic: it panics"},
		"the live one panics":   {panics, all(), "+ it answers\n"},
		"both panic":            {panics, panics, ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := Key{Namespace: "n", Name: "k"}
			s := expectShadow(t, configMapWorld(t, k), k, nativeVersion(t, x.live), nativeVersion(t, x.shadow), x.want)
			if err := s.Drain(t.Context()); err != nil {
				t.Errorf("the shadow is in use after its sync: %v", err)
			}
		})
	}
}

// A shadow that reads more fields than the live version, and leaves them as they are, would write the same.
func TestShadowOfMoreFields(t *testing.T) {
	k := Key{Namespace: "n", Name: "k"}
	around := configMapWorld(t, k)
	object := around.(world)[configMaps][k.Name]
	object.ResourceVersion = "7"
	object.Raw = schematest.Marshal(t, &upstream.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace,
		Name: k.Name, UID: "u", ResourceVersion: "7", Labels: map[string]string{"app": "web"}},
		Data: map[string]string{"a": "1"}})

	type doing = func(*sdk.Call, *corev1.ConfigMap) error
	returns := func(c *sdk.Call, m *corev1.ConfigMap) error { c.Add(sdk.Update(m)); return nil }
	performs := func(c *sdk.Call, m *corev1.ConfigMap) error { return c.Do(sdk.Update(m)) }
	labels := func(do doing) doing {
		return func(c *sdk.Call, m *corev1.ConfigMap) error {
			m = sdk.Clone(m)
			m.Labels.Set("app", "db")
			return do(c, m)
		}
	}

	const label = "    app: db"
	for name, x := range map[string]struct {
		live, shadow doing
		want         string // part of the difference; empty: there is none
	}{
		"returns it as it is":  {returns, returns, ""},
		"returns it changed":   {returns, labels(returns), label},
		"performs it as it is": {performs, performs, ""},
		"performs it changed":  {performs, labels(performs), label},
	} {
		t.Run(name, func(t *testing.T) {
			live := versionReading(t, x.live, "metadata.name", "data")
			shadow := versionReading(t, x.shadow, "metadata.name", "metadata.labels", "data")
			shadow.Writer = live.Writer // as in the manager
			expectShadow(t, around, k, live, shadow, x.want)
		})
	}
}

// expectShadow syncs a key, and expects a difference of the shadow's that reads so; empty: none.
func expectShadow(t *testing.T, around views.World, k Key, live, shadow *Version, want string) *Version {
	t.Helper()
	c := New(Options{World: around}, live)
	defer c.queue.ShutDown()
	var compared []*Difference
	c.SetShadow(&Shadow{Version: shadow, Compared: func(d *Difference) { compared = append(compared, d) }})

	c.Wake(k)
	newWorker(c).syncNext(t.Context())
	switch {
	case len(compared) != 1:
		t.Errorf("compared %d times", len(compared))
	case want == "" && compared[0] != nil:
		t.Errorf("they differ:\n%s", compared[0].Text)
	case want != "" && (compared[0] == nil || !strings.Contains(compared[0].Text, want)):
		t.Errorf("difference %+v, expected to read %q", compared[0], want)
	}
	return shadow
}

// nativeVersion is a version of a controller whose keys are config maps.
func nativeVersion(t testing.TB, do func(*sdk.Call) error) *Version {
	t.Helper()
	return versionReading(t, func(c *sdk.Call, _ *corev1.ConfigMap) error { return do(c) }, "metadata.name")
}

// versionReading is a version of a controller whose keys are config maps, of which it reads these fields and may write
// all.
func versionReading(t testing.TB, do func(*sdk.Call, *corev1.ConfigMap) error, fields ...string) *Version {
	t.Helper()
	maps := sdk.Key(corev1.ConfigMaps).Fields(fields...)
	g := guesttest.Native(&sdk.Plugin{Name: "p", Controllers: []*sdk.Controller{{Name: "c", Reads: sdk.Views{maps},
		Writes: sdk.Writes{corev1.ConfigMaps.Verbs("update")},
		Sync: func(c *sdk.Call) error {
			m, _ := maps.Get(c)
			return do(c, m)
		}}}})
	m := &g.Manifest().Controllers[0]
	plan, err := views.Compile(m)
	if err != nil {
		t.Fatal(err)
	}
	writer, err := effects.New(effects.Options{Controller: m, Config: &rest.Config{}, Seen: plan.Seen})
	if err != nil {
		t.Fatal(err)
	}
	writer.Lead()
	return &Version{Target: syncer.Target{Manifest: m, Module: guest.Sandboxed{Guest: g}, Plan: plan, Writer: writer},
		Metrics: unmeasured{}}
}

// configMapWorld is a world with these config maps, whose names all differ.
func configMapWorld(t testing.TB, keys ...Key) views.World {
	t.Helper()
	resource, err := schema.For(configMaps)
	if err != nil {
		t.Fatal(err)
	}
	all := objects{}
	for _, k := range keys {
		all[k.Name] = &cache.Object{Resource: resource, Namespace: k.Namespace, Name: k.Name, UID: "u"}
	}
	return world{configMaps: all}
}
