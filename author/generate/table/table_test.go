package table_test

import (
	"testing"

	"github.com/windlass-dev/windlass/author/generate/table"
)

func TestPlural(t *testing.T) {
	for _, c := range [][3]string{{"Pod", "pods", "Pods"}, {"NetworkPolicy", "networkpolicies", "NetworkPolicies"},
		{"Ingress", "ingresses", "Ingresses"},
		{"Endpoints", "endpoints", "Endpoints"}, {"Person", "people", "People"}, {"Ox", "kine", "Kine"}} {
		if got := table.Plural(c[0], c[1]); got != c[2] {
			t.Errorf("Plural(%s, %s) = %s, want %s", c[0], c[1], got, c[2])
		}
	}
}
