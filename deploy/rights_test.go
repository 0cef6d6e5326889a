package deploy

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
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

// run gives what windlass prints.
func run(t *testing.T, args ...string) []byte {
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

// rbacOf gives what windlass rbac prints, by kind and name.
func rbacOf(t *testing.T, args ...string) map[string]printed {
	t.Helper()
	all := map[string]printed{}
	for _, doc := range strings.Split(string(run(t, append([]string{"rbac"}, args...)...)), "---\n") {
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
	if err != nil || len(modules) < 13 {
		t.Fatalf("plugins: %v %v", modules, err)
	}
	for _, m := range modules {
		var inspected struct {
			Manifest struct {
				Name        string       `json:"name"`
				Controllers []controller `json:"controllers"`
			} `json:"manifest"`
		}
		if err := json.Unmarshal(run(t, "plugin", "inspect", "builtin:"+filepath.Base(filepath.Dir(filepath.Dir(m))), "-o", "json"), &inspected); err != nil {
			t.Fatal(err)
		}
		// A controller that is a part of another one is on when that is.
		r := rights{Name: inspected.Manifest.Name, Controllers: slices.DeleteFunc(inspected.Manifest.Controllers, func(c controller) bool { return c.PartOf != "" })}
		var on []string
		for _, c := range r.Controllers {
			on = append(on, c.Name)
		}
		objects := rbacOf(t, r.Name, "--controllers", strings.Join(on, ","), "--use-service-account-credentials", "--bindings")
		r.Writes = objects["ClusterRole windlass:"+r.Name].Rules
		for _, rule := range objects["ClusterRole windlass"].Rules {
			if !slices.Contains(rule.Verbs, "list") {
				continue // what the manager asks whatever its plugins are
			}
			for _, resource := range rule.Resources { // one each, so that the chart can put several plugins' together
				r.Reads = append(r.Reads, rbacv1.PolicyRule{APIGroups: rule.APIGroups, Resources: []string{resource}, Verbs: rule.Verbs})
			}
		}
		for _, s := range objects["ClusterRoleBinding windlass:"+r.Name].Subjects {
			if s.Kind != "ServiceAccount" || s.Namespace != "kube-system" {
				t.Errorf("plugin %s writes as %v", r.Name, s)
			}
			r.Accounts = append(r.Accounts, s.Name)
		}
		slices.Sort(r.Accounts)
		if len(r.Writes) == 0 || len(r.Reads) == 0 || len(r.Accounts) == 0 {
			t.Errorf("plugin %s has no rights: %+v", r.Name, r)
		}
		all = append(all, r)
	}
	return all
}

// The chart's roles are those that windlass rbac prints.
func TestRightsAreCurrent(t *testing.T) {
	var text strings.Builder
	text.WriteString("# Generated from what windlass rbac prints: cd deploy && go test -run TestRightsAreCurrent -update\nplugins:\n")
	for _, r := range builtin(t) {
		line := func(key string, values any) {
			b, err := json.Marshal(values)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&text, "  %s: %s\n", key, b)
		}
		fmt.Fprintf(&text, "- name: %s\n", r.Name)
		line("controllers", r.Controllers)
		line("accounts", r.Accounts)
		for _, x := range []struct {
			key   string
			rules []rbacv1.PolicyRule
		}{{"reads", r.Reads}, {"writes", r.Writes}} {
			fmt.Fprintf(&text, "  %s:\n", x.key)
			for _, rule := range x.rules {
				b, err := json.Marshal(rule)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&text, "  - %s\n", b)
			}
		}
	}
	text.WriteString("people:\n")
	people := rbacOf(t, "--viewer", "x", "--operator", "x")
	for _, name := range []string{"viewer", "operator"} {
		rules := people["ClusterRole windlass:"+name].Rules
		if len(rules) == 0 {
			t.Errorf("there is no role windlass:%s", name)
		}
		b, err := json.Marshal(rules)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "  %s: %s\n", name, b)
	}
	generated(t, chartFolder+"/files/rights.yaml", text.String())
}
