package rbac

import rbacv1 "k8s.io/api/rbac/v1"

// addLeases lets the manager hold the Leases that say who runs the controllers, and tell of that in events.
func (m *maker) addLeases(manager rbacv1.Subject) {
	l := &m.Config.LeaderElection
	if !l.LeaderElect {
		return
	}
	var names []string
	for _, g := range l.All() {
		names = append(names, g.LeaseName)
	}
	m.addRole(ManagerRole+":leases", l.ResourceNamespace, []rbacv1.PolicyRule{
		// which has no name yet
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: names,
			Verbs: []string{"get", "list", "update", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	}, manager)
}
