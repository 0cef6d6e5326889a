package rbac

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/config"
)

func printedAs(t *testing.T, k *config.Configuration) string {
	t.Helper()
	var all strings.Builder
	for _, o := range Make(nil, Options{Config: k, User: "u"}) {
		b, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}

// The manager needs what it asks about those who ask it, as the configuration has it.
func TestServingNeeds(t *testing.T) {
	has := func(change func(*config.Serving)) [3]bool {
		k := config.Default()
		change(&k.Serving)
		text := printedAs(t, k)
		return [3]bool{strings.Contains(text, "- tokenreviews\n"), strings.Contains(text, "- subjectaccessreviews\n"),
			strings.Contains(text, "- extension-apiserver-authentication\n")}
	}
	for name, c := range map[string]struct {
		change func(*config.Serving)
		want   [3]bool
	}{
		"as it comes":     {func(*config.Serving) {}, [3]bool{true, true, true}},
		"no lookup":       {func(c *config.Serving) { c.Authentication.SkipLookup = true }, [3]bool{true, true, false}},
		"another user":    {func(c *config.Serving) { c.Authentication.Kubeconfig = "/k" }, [3]bool{false, true, false}},
		"another for two": {func(c *config.Serving) { c.Authorization.Kubeconfig = "/k" }, [3]bool{true, false, true}},
		"none":            {func(c *config.Serving) { c.Port = 0 }, [3]bool{}},
	} {
		if d := cmp.Diff(c.want, has(c.change)); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
	}
}

// Each group's Lease is the manager's to hold, by name.
func TestLeases(t *testing.T) {
	k := config.Default()
	k.LeaderElection.ResourceNamespace, k.LeaderElection.Groups = "windlass-system",
		[]config.LeaderGroup{{Name: "apps"}, {Name: "batch", LeaseName: "jobs"}}
	text := printedAs(t, k)
	for _, want := range []string{"name: windlass:leases\n  namespace: windlass-system\n",
		"- kube-controller-manager\n  - kube-controller-manager-apps\n  - jobs\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	k.LeaderElection.LeaderElect = false
	if text := printedAs(t, k); strings.Contains(text, "leases") {
		t.Errorf("Leases for nobody in\n%s", text)
	}
}

func TestPeople(t *testing.T) {
	all := People([]string{"jane"}, []string{"system:serviceaccount:ops:debugger"})
	var text strings.Builder
	for _, o := range all {
		b, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(b)
	}
	if len(all) != 4 || strings.Count(text.String(), "- /windlass/v1/*\n") != 3 {
		t.Errorf("%d objects:\n%s", len(all), &text)
	}
	for _, want := range []string{"name: jane\n", "name: debugger\n  namespace: ops\n", "kind: ServiceAccount\n",
		"name: windlass:viewer\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	if len(People(nil, nil)) != 0 {
		t.Error("roles for nobody")
	}
}
