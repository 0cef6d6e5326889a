package deploy

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/test/cluster"
)

// program is where make build leaves windlass.
func program() string { return filepath.Join(filepath.Dir(cluster.Binary()), "windlass") }

// runWindlass returns what windlass prints.
func runWindlass(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(), args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("windlass %s: %v: %s (make build makes it)", strings.Join(args, " "), err, &stderr)
	}
	return out
}

// rights is what the chart knows of a built-in plugin: which of its controllers can be on, and what they need.
type rights struct {
	Name        string              `json:"name"`
	Controllers []controller        `json:"controllers"`
	Accounts    []string            `json:"accounts"` // in kube-system
	Reads       []rbacv1.PolicyRule `json:"reads"`
	Writes      []rbacv1.PolicyRule `json:"writes"`
	Within      []within            `json:"within,omitempty"`
}

// within is what a plugin may write in one namespace alone.
type within struct {
	Namespace string              `json:"namespace"`
	Writes    []rbacv1.PolicyRule `json:"writes"`
}

type controller struct {
	Name              string `json:"name"`
	Alias             string `json:"alias"`
	PartOf            string `json:"partOf,omitempty"`
	DisabledByDefault bool   `json:"disabledByDefault"`
}

// printed is any object that windlass rbac prints.
type printed struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Rules             []rbacv1.PolicyRule `json:"rules"`
	Subjects          []rbacv1.Subject    `json:"subjects"`
}

// printedRBAC returns what windlass rbac prints, by kind and name.
func printedRBAC(t *testing.T, args ...string) map[string]printed {
	t.Helper()
	all := map[string]printed{}
	for _, doc := range strings.Split(string(runWindlass(t, append([]string{"rbac"}, args...)...)), "---\n") {
		var p printed
		if err := yaml.Unmarshal([]byte(doc), &p); err != nil {
			t.Fatal(err)
		}
		all[p.Kind+" "+p.Name] = p
	}
	return all
}

// builtin asks windlass for the rights of all built-in plugins.
func builtin(t *testing.T) (all []rights) {
	t.Helper()
	modules, err := filepath.Glob("../plugins/*/module/main.go")
	if err != nil || len(modules) == 0 {
		t.Fatalf("plugins: %v %v", modules, err)
	}

	for _, m := range modules {
		var inspected struct {
			Manifest struct {
				Name        string       `json:"name"`
				Controllers []controller `json:"controllers"`
			} `json:"manifest"`
		}

		if err := json.Unmarshal(runWindlass(t, "plugin", "inspect", "builtin:"+filepath.Base(filepath.Dir(filepath.Dir(m))),
			"-o",
			"json"), &inspected); err != nil {
			t.Fatal(err)
		}

		// A controller that is a part of another one is on when that is.
		r := rights{Name: inspected.Manifest.Name,
			Controllers: slices.DeleteFunc(inspected.Manifest.Controllers, func(c controller) bool {
				return c.PartOf != ""
			})}

		var on []string
		for _, c := range r.Controllers {
			on = append(on, c.Name)
		}
		objects := printedRBAC(t, r.Name, "--controllers", strings.Join(on, ","), "--use-service-account-credentials",
			"--bindings")
		r.Writes = objects["ClusterRole windlass:"+r.Name].Rules
		if role, ok := objects["Role windlass:"+r.Name]; ok { // no plugin has several
			r.Within = []within{{role.Namespace, role.Rules}}
		}

		for _, rule := range objects["ClusterRole windlass"].Rules {
			if !slices.Contains(rule.Verbs, "list") {
				continue // what the manager asks whatever its plugins are
			}
			for _, resource := range rule.Resources { // one each, so that the chart can put several plugins' together
				r.Reads = append(r.Reads, rbacv1.PolicyRule{APIGroups: rule.APIGroups, Resources: []string{resource},
					Verbs: rule.Verbs})
			}
		}

		r.Accounts = []string{} // none: it writes as the manager itself
		bound := objects["ClusterRoleBinding windlass:"+r.Name].Subjects
		if len(bound) == 0 { // it writes in a single namespace alone
			bound = objects["RoleBinding windlass:"+r.Name].Subjects
		}
		for _, s := range bound {
			if s.Kind == "User" && s.Name == "system:kube-controller-manager" {
				continue
			}
			if s.Kind != "ServiceAccount" || s.Namespace != "kube-system" {
				t.Errorf("plugin %s writes as %v", r.Name, s)
			}
			r.Accounts = append(r.Accounts, s.Name)
		}

		slices.Sort(r.Accounts)
		if len(r.Writes)+len(r.Within) == 0 || len(r.Reads) == 0 || len(bound) == 0 {
			t.Errorf("plugin %s has no rights: %+v", r.Name, r)
		}
		all = append(all, r)
	}

	return all
}

// The chart's roles, which hack/generate-controllers makes, are those that windlass rbac prints.
func TestRightsAreCurrent(t *testing.T) {
	text, err := os.ReadFile(chartFolder + "/files/rights.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var chart struct {
		Plugins []rights                       `json:"plugins"`
		Counts  []rbacv1.PolicyRule            `json:"counts"`
		People  map[string][]rbacv1.PolicyRule `json:"people"`
	}
	if err := yaml.UnmarshalStrict(text, &chart); err != nil {
		t.Fatal(err)
	}
	printed := builtin(t)
	for i, r := range printed {
		if i >= len(chart.Plugins) {
			t.Fatalf("the chart has no roles for plugin %s: run make generate", r.Name)
		}
		if c := chart.Plugins[i]; !reflect.DeepEqual(r, c) {
			t.Errorf("the chart's roles for plugin %s aren't those that windlass rbac prints: run make build and make generate\nprinted: %+v\nchart: %+v", r.Name, r, c)
		}
	}
	if len(chart.Plugins) != len(printed) {
		t.Errorf("the chart has roles for %d plugins, there are %d", len(chart.Plugins), len(printed))
	}

	if counts := printedRBAC(t)["ClusterRole windlass:counts"].Rules; len(counts) == 0 ||
		!reflect.DeepEqual(counts, chart.Counts) {
		t.Errorf("the chart's rights to count aren't those that windlass rbac prints:\nprinted: %+v\nchart: %+v",
			counts, chart.Counts)
	}

	objects, people := printedRBAC(t, "--viewer", "x", "--operator", "x"), map[string][]rbacv1.PolicyRule{}
	for _, name := range []string{"viewer", "operator"} {
		people[name] = objects["ClusterRole windlass:"+name].Rules
		if len(people[name]) == 0 {
			t.Errorf("there is no role windlass:%s", name)
		}
	}
	if !reflect.DeepEqual(people, chart.People) {
		t.Errorf("the chart's roles of people aren't those that windlass rbac prints:\nprinted: %+v\nchart: %+v",
			people, chart.People)
	}
}
