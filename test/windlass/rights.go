package windlass

import (
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/windlass-dev/windlass/test/cluster"
)

// ExpectRoles fails the test if RBAC has refused anything to the manager or to one of its controllers: upstream's
// bootstrap roles are enough.
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

// Kubeconfig writes one with a token of a service account, and returns its path.
func Kubeconfig(t testing.TB, c *cluster.Cluster, namespace, account string) string {
	t.Helper()
	token, err := c.Client().CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	k := clientcmdapi.NewConfig()
	k.Clusters["c"] = &clientcmdapi.Cluster{Server: c.RESTConfig().Host, CertificateAuthority: c.CAFile}
	k.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	k.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	k.CurrentContext = "c"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*k, path); err != nil {
		t.Fatal(err)
	}
	return path
}
