package rbac

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/schema"
)

var (
	pods  = abi.Resource{Version: "v1", Name: "pods"}
	nodes = abi.Resource{Version: "v1", Name: "nodes"}
	every = abi.Resource{Name: "*"}
)

// rolesOf returns the rules of the printed roles, by "NAMESPACE/NAME", as "groups resources verbs".
func rolesOf(t *testing.T, c abi.Controller, p config.Plugin) map[string][]string {
	t.Helper()
	k := config.Default()
	k.Serving.Port, k.LeaderElection.LeaderElect = 0, false
	p.Name = "p"
	k.Plugins = []config.Plugin{p}
	all := map[string][]string{}
	for _, o := range Make([]Plugin{{Name: "p", Controllers: []abi.Controller{c}}}, Options{Config: k, User: "u"}) {
		b, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var r rbacv1.Role
		if err := yaml.Unmarshal(b, &r); err != nil {
			t.Fatal(err)
		}
		for _, x := range r.Rules {
			words := []string{strings.Join(x.APIGroups, ","), strings.Join(x.Resources, ","), strings.Join(x.Verbs, ",")}
			all[r.Namespace+"/"+r.Name] = append(all[r.Namespace+"/"+r.Name],
				strings.Join(append(words, x.ResourceNames...), " "))
		}
	}
	return all
}

// A role is what the manifest and the grant both have.
func TestRoles(t *testing.T) {
	all := []string{"*"}
	c := abi.Controller{
		Views: []abi.View{{Name: "pods", Resource: pods}},
		Writes: []abi.Write{{Resource: pods, Verbs: []string{"create", "delete"}},
			{Resource: pods, Subresource: "status", Verbs: []string{"patch"}}, {Resource: nodes, Verbs: []string{"update"}},
			{Resource: every, Subresource: "scale", Verbs: []string{"get", "update"}}},
		EventSource: "c",
	}

	reads := config.Rule{APIGroups: all, Resources: all, Verbs: []string{"list", "watch"}}
	manager := []string{" nodes list", " pods list,watch"}
	for _, x := range []struct {
		name string
		p    config.Plugin
		want map[string][]string
	}{
		{"no grant", config.Plugin{}, map[string][]string{"/windlass": manager,
			"/windlass:p": {" events create,patch", " nodes update", " pods create,delete", " pods/status patch",
				"* */scale get,update"}}},
		{"an empty grant", config.Plugin{Grant: []config.Rule{}}, map[string][]string{}},
		{"verbs", config.Plugin{Grant: []config.Rule{reads,
			{APIGroups: []string{""}, Resources: []string{"pods", "replicationcontrollers/scale"},
				Verbs: []string{"delete", "get"}}}},
			map[string][]string{"/windlass": {" pods list,watch"},
				"/windlass:p": {" events create,patch", " pods delete", " replicationcontrollers/scale get"}}},
		{"namespaces", config.Plugin{Grant: []config.Rule{{APIGroups: all, Resources: all, Verbs: all,
			Namespaces: []string{"a"}}}},
			map[string][]string{"/windlass": {" pods list,watch"},
				"a/windlass:p": {" events create,patch", " pods create,delete", " pods/status patch", "* */scale get,update"}}},
		{"here and everywhere", config.Plugin{Grant: []config.Rule{reads,
			{APIGroups: all, Resources: []string{"pods"}, Verbs: []string{"create"}},
			{APIGroups: all, Resources: []string{"pods"}, Verbs: all, Namespaces: []string{"a"}}}},
			map[string][]string{"/windlass": {" pods list,watch"}, "/windlass:p": {" events create,patch", " pods create"},
				"a/windlass:p": {" pods create,delete"}}},
		{"somebody else", config.Plugin{Impersonate: config.Impersonate{ServiceAccount: "n/s"}, Grant: []config.Rule{reads}},
			map[string][]string{"/windlass": {" pods list,watch"}, "/windlass:p": {" events create,patch"},
				"n/windlass:impersonate": {" serviceaccounts impersonate s"}}},
	} {
		if d := cmp.Diff(x.want, rolesOf(t, c, x.p)); d != "" {
			t.Errorf("%s: -want +got:\n%s", x.name, d)
		}
	}

	// A right in some namespaces is a Role there, one to some objects names them, and neither is there beside a wider one.
	secrets := abi.Resource{Version: "v1", Name: "secrets"}
	narrow := func(verbs ...string) abi.Write { return abi.Write{Resource: secrets, Verbs: verbs} }
	reads = config.Rule{APIGroups: all, Resources: all, Verbs: []string{"list", "watch"}}
	for _, x := range []struct {
		name   string
		writes []abi.Write
		grant  []config.Rule
		want   map[string][]string
	}{
		{"a namespace", []abi.Write{narrow("delete").In("a", "b")}, nil, map[string][]string{"/windlass": {" secrets list"},
			"a/windlass:p": {" secrets delete"}, "b/windlass:p": {" secrets delete"}}},
		{"names", []abi.Write{narrow("get").Named("x", "y")}, nil,
			map[string][]string{"/windlass:p": {" secrets get x", " secrets get y"}}},
		{"a name in a namespace", []abi.Write{narrow("get").In("a").Named("x")}, nil,
			map[string][]string{"a/windlass:p": {" secrets get x"}}},
		{"beside wider ones", []abi.Write{narrow("get").In("a").Named("x"), narrow("get").In("b"), narrow("get").Named("y"),
			narrow("get")}, nil, map[string][]string{"/windlass:p": {" secrets get"}}},
		{"granted elsewhere", []abi.Write{narrow("get").In("a")}, []config.Rule{reads, {APIGroups: all, Resources: all,
			Verbs: all, Namespaces: []string{"b"}}}, map[string][]string{}},
		{"granted there", []abi.Write{narrow("get").In("a", "b").Named("x")}, []config.Rule{reads, {APIGroups: all,
			Resources: all, Verbs: all, Namespaces: []string{"b", "c"}}},
			map[string][]string{"b/windlass:p": {" secrets get x"}}},
	} {
		got := rolesOf(t, abi.Controller{Writes: x.writes}, config.Plugin{Grant: x.grant})
		if d := cmp.Diff(x.want, got); d != "" {
			t.Errorf("%s: -want +got:\n%s", x.name, d)
		}
	}

	c = abi.Controller{Views: []abi.View{{Name: "all", Resource: schema.Any}}}
	got := rolesOf(t, c, config.Plugin{Grant: []config.Rule{{APIGroups: []string{"apps"},
		Resources: []string{"replicasets", "*/scale"}, Verbs: all, Namespaces: []string{"a"}}}})
	if d := cmp.Diff(map[string][]string{"/windlass": {"apps replicasets list,watch"}}, got); d != "" {
		t.Errorf("views over all resources: -want +got:\n%s", d)
	}
}

// A built-in module's manifest says as whom its controllers write; anybody else's doesn't.
func TestAccounts(t *testing.T) {
	c := abi.Controller{Views: []abi.View{{Name: "pods", Resource: pods}},
		Writes: []abi.Write{{Resource: pods, Verbs: []string{"create"}}}, ServiceAccount: "generic-garbage-collector"}
	for _, x := range []struct {
		name    string
		own     bool // credentials
		builtin bool
		p       config.Plugin
		want    string
	}{
		{"built in", true, true, config.Plugin{}, "ServiceAccount kube-system/generic-garbage-collector"},
		{"somebody's", true, false, config.Plugin{}, "ServiceAccount kube-system/windlass-plugin-p"},
		{"somebody's, configured", true, false, config.Plugin{ServiceAccount: "a"}, "ServiceAccount kube-system/a"},
		{"built in, configured", true, true, config.Plugin{ServiceAccount: "a"}, "ServiceAccount kube-system/a"},
		{"impersonated", true, false, config.Plugin{Impersonate: config.Impersonate{ServiceAccount: "n/s"}},
			"ServiceAccount n/s"},
		{"all as one", false, false, config.Plugin{}, "User /u"},
	} {
		k := config.Default()
		k.Serving.Port, k.LeaderElection.LeaderElect = 0, false
		k.UseServiceAccountCredentials = x.own
		x.p.Name = "p"
		k.Plugins = []config.Plugin{x.p}

		got := ""
		for _, o := range Make([]Plugin{{Name: "p", Builtin: x.builtin, Controllers: []abi.Controller{c}}},
			Options{Config: k, User: "u", Bindings: true}) {
			if b, ok := o.(*rbacv1.ClusterRoleBinding); ok && b.Name == "windlass:p" {
				for _, s := range b.Subjects {
					got += s.Kind + " " + s.Namespace + "/" + s.Name
				}
			}
		}

		if got != x.want {
			t.Errorf("%s: it is bound to %q, expected %q", x.name, got, x.want)
		}
	}
}

// What is counted may be listed and nothing else, and Secrets aren't among it.
func TestCounts(t *testing.T) {
	all := Counts()
	if len(all) == 0 {
		t.Error("nothing may be counted")
	}
	for _, r := range all {
		if !slices.Equal(r.Verbs, []string{"list"}) || slices.Contains(r.Resources, "secrets") ||
			slices.Contains(r.Resources, "*") {
			t.Errorf("allows more than to count: %+v", r)
		}
	}
}

// A plugin that is named gets its roles though it is off by default; one that is turned off doesn't.
func TestChooseOffByDefault(t *testing.T) {
	all := []Plugin{{Name: "signer", Controllers: []abi.Controller{{Name: "signer-controller", DisabledByDefault: true}}}}
	for _, x := range []struct {
		list, names []string
		want        int
	}{
		{[]string{"*"}, nil, 0},
		{[]string{"*"}, []string{"signer"}, 1},
		{[]string{"*", "signer-controller"}, nil, 1},
		{[]string{"*", "-signer-controller"}, []string{"signer"}, 0},
	} {
		got, err := Choose(&config.Configuration{Controllers: x.list}, all, nil, x.names)
		if err != nil || len(got) != x.want {
			t.Errorf("%v with controllers %v: %d plugins, %v", x.names, x.list, len(got), err)
		}
	}
}
