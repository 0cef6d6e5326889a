package conformance

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/windlass-dev/windlass/author/guest"
	"github.com/windlass-dev/windlass/config/kcm"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/plugins/builtin"
)

// manifest checks what a plugin says of itself: the names of its controllers are upstream's, and its module says the
// same.
func manifest(t *testing.T, p builtin.Plugin) {
	if p.Native.Name != p.Folder {
		t.Errorf("the plugin is called %q, its folder %q", p.Native.Name, p.Folder)
	}
	if p.Native.Version == "" || p.Native.Description == "" {
		t.Errorf("version %q, description %q: both are told to operators", p.Native.Version, p.Native.Description)
	}
	for _, c := range p.Controllers() {
		checkNames(t, c)
	}

	found, err := plugins.Named("builtin:" + p.Folder)
	if err != nil {
		t.Fatalf("%v: run make plugins", err)
	}
	m, err := guest.Load(t.Context(), found, sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if d := cmp.Diff(p.Native.Manifest(), m.Manifest()); d != "" {
		t.Errorf("the module's manifest isn't that of the same code natively: run make plugins (-native +module):\n%s", d)
	}
}

// sharedQueue is what upstream's approver and its four signers all call their queues.
const sharedQueue = "certificate"

// No two controllers have a name, an alias or a queue in common, whichever plugins they are of: commands, flags and
// metrics go by these. One queue's name is shared, as it is upstream.
func TestNamesAreTheirOwn(t *testing.T) {
	names, queues := map[string]string{}, map[string]string{}
	for _, c := range builtin.Controllers() {
		for _, name := range []string{c.Name, c.Alias} {
			if other, taken := names[name]; taken && name != "" {
				t.Errorf("%s and %s are both called %s", other, c.Name, name)
			}
			names[name] = c.Name
		}
		if other, taken := queues[c.Queue]; taken && c.Queue != "" && c.Queue != sharedQueue {
			t.Errorf("%s and %s both have the queue %s", other, c.Name, c.Queue)
		}
		queues[c.Queue] = c.Name
	}
	if len(names) < len(builtin.Plugins) {
		t.Errorf("%d plugins have %d names of controllers", len(builtin.Plugins), len(names))
	}
}

// checkNames checks the names by which operators and dashboards know a controller.
func checkNames(t *testing.T, c builtin.Controller) {
	// upstream runs this one with the manager's own rights
	if c.ServiceAccount == "" && c.Name != "serviceaccount-token-controller" {
		t.Errorf("%s has no service account", c.Name)
	}
	if c.Queue == "" && !c.Manifest.Key.Single { // upstream has no queue where there is one key
		t.Errorf("%s has no queue", c.Name)
	}
	if c.PartOf != "" {
		if !slices.ContainsFunc(c.Plugin.Controllers(), func(o builtin.Controller) bool { return o.Name == c.PartOf }) {
			t.Errorf("%s is part of %s, which isn't in the same plugin", c.Name, c.PartOf)
		}
		return
	}

	i := slices.IndexFunc(kcm.Controllers, func(k kcm.Controller) bool { return k.Name == c.Name })
	if i < 0 {
		t.Fatalf("kube-controller-manager has no controller %s", c.Name)
	}
	want := kcm.Controllers[i]
	if c.Alias != want.Alias || c.Manifest.DisabledByDefault != want.DisabledByDefault {
		t.Errorf("%s: alias %q, disabled by default: %v; upstream's are %q, %v",
			c.Name, c.Alias, c.Manifest.DisabledByDefault, want.Alias, want.DisabledByDefault)
	}
}
