package kubeadm

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/config/kcm"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// native is the command line of the native kube-controller-manager.
type native struct {
	Flags []struct {
		Name, Shorthand, Type, Default, NoOption string
	}
	Controllers       []string
	DisabledByDefault []string
	Aliases           map[string]string
	FeatureGates      []struct {
		Name            string
		Default, Locked bool
		Stage           string
	}
}

// asked is what devcluster, which has the native manager in it, says of its command line.
var asked = sync.OnceValues(func() (*native, error) {
	out, err := exec.Command(cluster.Binary(), "kube-controller-manager-flags").Output()
	if err != nil {
		return nil, err
	}
	n := &native{}
	return n, json.Unmarshal(out, n)
})

func askNative(t *testing.T) *native {
	t.Helper()
	n, err := asked()
	if err != nil {
		t.Fatalf("%s kube-controller-manager-flags: %v: run make devcluster", cluster.Binary(), err)
	}
	return n
}

// otherTypes are flags of windlass that have another type's name and take the same values.
var otherTypes = map[string]string{
	"v": "int32", // a Level
}

// Every flag of the native binary is one of windlass's, of the same type and with the same default unless the table
// tells why not.
func TestEveryFlag(t *testing.T) {
	n := askNative(t)
	if len(n.Flags) < 100 {
		t.Fatalf("the native manager has %d flags", len(n.Flags))
	}

	table := map[string]kcm.Flag{}
	for _, g := range kcm.Groups {
		for _, f := range g.Flags {
			table[f.Name] = f
			if !slices.ContainsFunc(n.Flags, func(x struct{ Name, Shorthand, Type, Default, NoOption string }) bool {
				return x.Name == f.Name
			}) {
				t.Errorf("--%s isn't a flag of the native manager", f.Name)
			}
		}
	}

	fs := pflag.NewFlagSet("windlass", pflag.ContinueOnError)
	config.AddFlags(fs)
	args := []string{"run", "--version"}
	for _, f := range n.Flags {
		row, ok := table[f.Name]
		if !ok {
			t.Errorf("--%s (%s, default %q) isn't in the table of flags", f.Name, f.Type, f.Default)
			continue
		}
		if f.Name != "help" && f.Name != "version" {
			args = append(args, flagWithValue(f.Name, f.Type, f.Default)...)
		}
		ours := fs.Lookup(f.Name)
		if ours == nil {
			if row.Does == "" {
				t.Errorf("--%s isn't a flag of windlass", f.Name)
			}
			continue
		}
		if is := ours.Value.Type(); is != f.Type && is != otherTypes[f.Name] {
			t.Errorf("--%s: type %s, natively %s", f.Name, is, f.Type)
		}
		if differs := ours.DefValue != f.Default; differs != (row.Differs != "") {
			t.Errorf("--%s: default %q, natively %q, and the table says of that: %q",
				f.Name, ours.DefValue, f.Default, row.Differs)
		}
		if ours.NoOptDefVal != f.NoOption || f.Shorthand != ours.Shorthand {
			t.Errorf("--%s: bare %q, short %q, natively %q and %q",
				f.Name, ours.NoOptDefVal, ours.Shorthand, f.NoOption, f.Shorthand)
		}
	}

	t.Logf("%d flags", len(n.Flags))
	// The program takes all of them at once: with --version it says who it is, when it has understood them.
	out, err := exec.CommandContext(t.Context(), windlass.Program(), args...).CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "Windlass ") {
		t.Errorf("windlass %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// flagWithValue returns a flag with a value as it would be written.
func flagWithValue(name, kind, value string) []string {
	if strings.HasPrefix(value, "[") {
		if value = strings.Trim(value, "[]"); value == "" {
			return nil // nothing is what can't be said of a list
		}
	}
	return []string{"--" + name + "=" + value}
}

// The names of controllers and feature gates are those of the native binary.
func TestEveryName(t *testing.T) {
	n := askNative(t)
	names, off, aliases := []string{}, []string{}, map[string]string{}
	for _, c := range kcm.Controllers {
		names = append(names, c.Name)
		if c.DisabledByDefault {
			off = append(off, c.Name)
		}
		if c.Alias != "" {
			aliases[c.Alias] = c.Name
		}
	}

	slices.Sort(names)
	slices.Sort(n.Controllers)
	slices.Sort(n.DisabledByDefault)
	slices.Sort(off)
	if d := cmp.Diff(n.Controllers, names); d != "" {
		t.Errorf("controllers, -native +ours:\n%s", d)
	}
	if d := cmp.Diff(n.DisabledByDefault, off); d != "" {
		t.Errorf("disabled by default, -native +ours:\n%s", d)
	}
	if d := cmp.Diff(n.Aliases, aliases); d != "" {
		t.Errorf("aliases, -native +ours:\n%s", d)
	}

	gates := map[string]kcm.Gate{}
	for _, g := range n.FeatureGates {
		stage := strings.ToLower(g.Stage)
		if stage != kcm.Alpha && stage != kcm.Beta {
			stage = ""
		}
		gates[g.Name] = kcm.Gate{Default: g.Default, Locked: g.Locked, Stage: stage}
	}

	ours := map[string]kcm.Gate{}
	for name, g := range kcm.Gates() {
		ours[name] = kcm.Gate{Default: g.Default, Locked: g.Locked, Stage: g.Stage}
	}
	if d := cmp.Diff(gates, ours, cmpopts.IgnoreUnexported(kcm.Gate{})); d != "" {
		t.Errorf("feature gates, -native +ours (config/kcm/gates.txt):\n%s", d)
	}
}

// What a flag sets of a built-in plugin is there, with the flag's default as its own.
func TestPluginsHaveWhatFlagsSet(t *testing.T) {
	found, problems := plugins.Find(t.Context(), config.Default(), plugins.Builtin{})
	for _, p := range problems {
		t.Error(p)
	}

	names, aliases := plugins.Controllers(found)
	for _, c := range kcm.Controllers {
		if slices.Contains(names, c.Name) && c.Alias != "" && aliases[c.Alias] != c.Name {
			t.Errorf("%s has no alias %s", c.Name, c.Alias)
		}
	}

	fs := pflag.NewFlagSet("windlass", pflag.ContinueOnError)
	config.AddFlags(fs)
	checked := 0
	for _, g := range kcm.Groups {
		for _, f := range g.Flags {
			rest, ok := strings.CutPrefix(f.Sets, "plugins[")
			if !ok {
				continue
			}

			checked++
			name, field, _ := strings.Cut(rest, "]")
			i := slices.IndexFunc(found, func(p plugins.Found) bool { return p.Name == name })
			if i < 0 {
				t.Errorf("--%s sets %s: there is no such plugin", f.Name, f.Sets)
				continue
			}

			m, standard := found[i].Manifest, fs.Lookup(f.Name).DefValue
			if f.Workers {
				j := slices.IndexFunc(m.Controllers, func(c abi.Controller) bool { return c.Name == f.Of })
				if j < 0 {
					t.Fatalf("--%s sets %s: the plugin has no controller %s", f.Name, f.Sets, f.Of)
				}
				if got := m.Controllers[j].Workers; standard != fmt.Sprint(got) {
					t.Errorf("--%s: default %s, %s has %d workers", f.Name, standard, f.Of, got)
				}
				continue
			}

			setting := strings.TrimSuffix(strings.TrimPrefix(field, ".settings["), "]")
			has := false
			for _, s := range m.Settings {
				if s.Name == setting {
					has = true
					if s.Default != standard && !(s.Default == "0" && standard == "0s") {
						t.Errorf("--%s: default %q, that of the setting is %q", f.Name, standard, s.Default)
					}
				}
			}

			if !has {
				t.Errorf("--%s sets %s: there is no such setting", f.Name, f.Sets)
			}
		}
	}

	if checked < 15 {
		t.Errorf("only %d flags set something of a plugin", checked)
	}
}

// docs/migrating.md lists exactly the controllers that nobody runs.
func TestDocsListWhatIsMissing(t *testing.T) {
	found, _ := plugins.Find(t.Context(), config.Default(), plugins.Builtin{})
	names, _ := plugins.Controllers(found)
	list := []string{"*"}
	for _, c := range kcm.Controllers {
		if c.DisabledByDefault {
			list = append(list, c.Name)
		}
	}
	named, others := config.Missing(list, names)
	b, err := os.ReadFile("../../docs/migrating.md")
	mustSucceed(t, err)
	_, text, _ := strings.Cut(string(b), "<!-- Generated by hack/generate-controllers")
	text, _, ok := strings.Cut(text, "<!-- end -->")
	if !ok {
		t.Fatal("docs/migrating.md has no generated list")
	}
	told := regexp.MustCompile(`[a-z-]+-controller\b`).FindAllString(text, -1)
	want := append(named, others...)
	slices.Sort(told)
	slices.Sort(want)
	if d := cmp.Diff(want, told); d != "" {
		t.Errorf("controllers that aren't here, -want +docs/migrating.md:\n%s", d)
	}
}

func mustSucceed(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
