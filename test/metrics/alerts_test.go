package metrics

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const docs = "../../docs/metrics.md"

var (
	// word is a name in an expression that may be a metric's: not a function, a label or a word of the language.
	word = regexp.MustCompile(`\b[a-z]+(_[a-z]+)+\b`)
	// chosen is a metric with conditions, condition one of them.
	chosen    = regexp.MustCompile(`([a-z_]+)\{([^}]*)\}`)
	condition = regexp.MustCompile(`([a-z]+)=~?"([^"]*)"`)
)

// The sample of alerts asks for metrics that there are, with label values that there can be.
func TestAlerts(t *testing.T) {
	text, err := os.ReadFile("../../deploy/alerts.yaml")
	must(t, err)
	var rules struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []struct {
				Alert       string            `json:"alert"`
				Expr        string            `json:"expr"`
				For         string            `json:"for"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"rules"`
		} `json:"groups"`
	}

	must(t, yaml.UnmarshalStrict(text, &rules))
	told, err := os.ReadFile(docs)
	must(t, err)

	// Health checks have an endpoint of their own.
	known := string(told) + "`kubernetes_healthcheck`"
	n := 0
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			names := word.FindAllString(r.Expr, -1)
			if r.Alert == "" || r.Annotations["summary"] == "" || r.Labels["severity"] == "" || len(names) == 0 {
				t.Errorf("%s: wants a name, an expression, a summary and a severity", r.Alert)
			}
			for _, name := range names {
				for _, suffix := range []string{"_count", "_sum", "_bucket"} {
					if s, ok := strings.CutSuffix(name, suffix); ok && strings.Contains(known, "`"+s+"`") {
						name = s
					}
				}
				if !strings.Contains(known, "`"+name+"`") {
					t.Errorf("%s: there is no metric %s", r.Alert, name)
				}
			}
			for _, m := range chosen.FindAllStringSubmatch(r.Expr, -1) {
				_, row, ok := strings.Cut(string(told), "| `"+m[1]+"` |")
				if !ok {
					continue // the health checks
				}
				row, _, _ = strings.Cut(row, "\n")
				for _, c := range condition.FindAllStringSubmatch(m[2], -1) {
					for v := range strings.SplitSeq(c[2], "|") {
						if !strings.Contains(row, "`"+c[1]+"`") || !strings.Contains(row, v) {
							t.Errorf("%s: %s has no %s=%q", r.Alert, m[1], c[1], v)
						}
					}
				}
			}
			n++
		}
	}

	if n == 0 {
		t.Error("there are no alerts")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
