package names

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// What could lead a path, a file or a metric elsewhere is refused wherever it could stand, and what Kubernetes has
// isn't.
func TestNames(t *testing.T) {
	kinds := map[string]struct {
		check func(string) error
		good  string // separated by spaces
		empty bool
	}{
		"group":       {Group, "apps example.com rbac.authorization.k8s.io", true},
		"version":     {Version, "v1 v1beta1 v2alpha3", false},
		"plural":      {Plural, "pods nodes * flowschemas my-things", false},
		"subresource": {Subresource, "status scale eviction ephemeralcontainers", true},
		"namespace":   {Namespace, "default kube-system 1", true},
		"controller":  {Controller, "job-controller greeter-0 example.com", false},
		"plugin":      {Plugin, "job my-plugin", false},
		"account":     {ServiceAccount, "job-controller", false},
		"setting":     {Setting, "concurrent-job-syncs PodCertificateRequest a_b.c", false},
		"metric":      {Metric, "job_controller_syncs_total a:b _x", false},
		"label":       {MetricLabel, "result le_ x1", false},
	}
	bad := []string{
		"..", ".", "a/b", "v1/../../../api/v1", "../../outside/evil", "a%2fb", "a\xffb", "\xff", "a\nb", "a\x00b", "\x1b[2J",
		strings.Repeat("a", 1025),
	}
	for name, k := range kinds {
		for good := range strings.FieldsSeq(k.good) {
			if err := k.check(good); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := k.check(""); (err == nil) != k.empty {
			t.Errorf("%s: an empty one: %v", name, err)
		}
		for _, s := range bad {
			err := k.check(s)
			if err == nil {
				t.Errorf("%s: %q may be one", name, s)
				continue
			}
			if text := err.Error(); strings.ContainsAny(text, "\n\x00\x1b") || !utf8.ValidString(text) || len(text) > 300 {
				t.Errorf("%s: %q: the error is %q", name, s, text)
			}
		}
	}

	for _, s := range []string{"", "grüße", "legacy tokens"} {
		if err := Text("view", s); err != nil {
			t.Error(err)
		}
	}
	for _, s := range []string{"a\xffb", "a\nb", strings.Repeat("a", 1025)} {
		if Text("view", s) == nil {
			t.Errorf("%q may be a text", s)
		}
	}
}

// Upper case, a dash at an end, and what is too long aren't names of Kubernetes' either.
func TestLabels(t *testing.T) {
	for _, s := range []string{"Pods", "-a", "a-", "a_b", strings.Repeat("a", 64), "a b"} {
		if Namespace(s) == nil || Version(s) == nil || Plural(s) == nil {
			t.Errorf("%q names a namespace, a version or a resource", s)
		}
	}
	for _, s := range []string{"A.b", "a..b", ".a", "a.", "a.-b", strings.Repeat("a.", 127) + "a"} {
		if Group(s) == nil || Controller(s) == nil {
			t.Errorf("%q names a group or a controller", s)
		}
	}
	for _, s := range []string{"le", "quantile", "__name__", "1a", "a:b", "a-b"} {
		if MetricLabel(s) == nil {
			t.Errorf("%q names a metric's label", s)
		}
	}
}
