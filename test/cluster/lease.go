package cluster

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LeaseHolder returns who holds kube-controller-manager's Lease, or "" while nobody does.
func (c *Cluster) LeaseHolder(t testing.TB) string {
	t.Helper()
	l, err := c.Client().CoordinationV1().Leases("kube-system").Get(t.Context(), "kube-controller-manager",
		metav1.GetOptions{})
	if err != nil || l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}
