package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/config"
)

// The roles of people who ask the manager: viewers see its state, operators besides what syncs have seen, and may
// change something.
const (
	ViewerRole   = "windlass:viewer"
	OperatorRole = "windlass:operator"
)

// addReviews adds what the manager asks the API server about those who ask it, upstream's system:auth-delegator.
func addReviews(r rules, c *config.Serving) {
	if c.Port == 0 {
		return
	}
	if c.Authentication.Kubeconfig == "" {
		r.add(target{group: "authentication.k8s.io", resource: "tokenreviews"}, "create")
	}
	if c.Authorization.Kubeconfig == "" {
		r.add(target{group: "authorization.k8s.io", resource: "subjectaccessreviews"}, "create")
	}
}

// addTrust lets the manager read whose client certificates the API server trusts, as upstream's Role
// extension-apiserver-authentication-reader.
func (m *maker) addTrust(manager rbacv1.Subject) {
	if a := &m.Config.Serving; a.Port == 0 || a.Authentication.SkipLookup || a.Authentication.Kubeconfig != "" {
		return
	}
	m.addRole(ManagerRole+":serving", accountNamespace, []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"},
			ResourceNames: []string{"extension-apiserver-authentication"}, Verbs: []string{"get"}},
	}, manager)
}

// People returns the roles of those who ask the manager, bound to users; system:serviceaccount:NAMESPACE:NAME is that
// service account.
func People(viewers, operators []string) (all []runtime.Object) {
	see := rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{
		"/healthz", "/healthz/*", "/livez", "/livez/*", "/readyz", "/readyz/*", "/metrics", "/metrics/*", "/configz",
		"/flagz", "/statusz", "/windlass/v1/*", "/debug/explain",
	}}
	operate := rbacv1.PolicyRule{Verbs: []string{"get", "post", "put"},
		NonResourceURLs: []string{"/windlass/v1/*", "/debug/*"}}
	role := func(name string, users []string, rules ...rbacv1.PolicyRule) {
		if len(users) == 0 {
			return
		}
		b := &rbacv1.ClusterRoleBinding{TypeMeta: typeMeta("ClusterRoleBinding"), ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}}
		for _, u := range users {
			b.Subjects = append(b.Subjects, subjectOf(u))
		}
		all = append(all, &rbacv1.ClusterRole{TypeMeta: typeMeta("ClusterRole"), ObjectMeta: metav1.ObjectMeta{Name: name},
			Rules: rules}, b)
	}
	role(ViewerRole, viewers, see)
	role(OperatorRole, operators, see, operate)
	return all
}
