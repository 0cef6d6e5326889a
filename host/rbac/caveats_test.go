package rbac

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Who writes bindings or roles is told of the verbs that the API server wants for them.
func TestCaveats(t *testing.T) {
	rule := func(resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{rbacv1.GroupName}, Resources: []string{resource}, Verbs: verbs}
	}
	for _, x := range []struct {
		rules []rbacv1.PolicyRule
		verb  string
	}{
		{[]rbacv1.PolicyRule{rule("rolebindings", "create", "update")}, "the verb bind"},
		{[]rbacv1.PolicyRule{rule("clusterrolebindings", "patch")}, "the verb bind"},
		{[]rbacv1.PolicyRule{rule("roles", "create")}, "the verb escalate"},
		{[]rbacv1.PolicyRule{rule("rolebindings", "delete", "get", "list", "watch")}, ""},
		{[]rbacv1.PolicyRule{rule("clusterroles", "escalate", "patch")}, ""},
		{[]rbacv1.PolicyRule{{APIGroups: []string{"example.com"}, Resources: []string{"roles"}, Verbs: []string{"create"}}}, ""},
	} {
		said := Caveats([]runtime.Object{&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "windlass:mine"},
			Rules: x.rules}})
		switch {
		case x.verb == "" && len(said) > 0:
			t.Errorf("%v: %q", x.rules, said)
		case x.verb != "" && (len(said) != 1 || !strings.Contains(said[0], x.verb) || !strings.HasPrefix(said[0], "windlass:mine writes ")):
			t.Errorf("%v: %q, want %s", x.rules, said, x.verb)
		}
	}
}
