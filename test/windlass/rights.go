package windlass

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/cluster"
)

// ExpectRoles fails the test if RBAC has refused anything to the manager or to one of its controllers: upstream's bootstrap roles are enough.
func ExpectRoles(t testing.TB, c *cluster.Cluster) {
	t.Helper()
	did := false
	for _, e := range c.Audit(t, cluster.Filter{}) {
		ours := strings.HasPrefix(e.User, "system:serviceaccount:kube-system:") || e.User == "system:kube-controller-manager"
		did = did || ours
		if ours && e.Denied {
			t.Errorf("upstream's role doesn't allow: %v", e)
		}
	}
	if !did {
		t.Error("the audit log has no request of the manager's")
	}
}
