package deploy

import (
	"os"
	"regexp"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/test/cluster"
)

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// documents reads a stream of YAML documents.
func documents(t *testing.T, text string) (all []*unstructured.Unstructured) {
	t.Helper()
	for _, doc := range regexp.MustCompile(`(?m)^---$`).Split(text, -1) {
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(doc), &o.Object); err != nil {
			t.Fatalf("%v in:\n%s", err, doc)
		}
		if o.Object != nil {
			all = append(all, o)
		}
	}
	return all
}

// serviceAccount makes one and returns a token of it.
func serviceAccount(t *testing.T, c *cluster.Cluster, ns, name string) string {
	t.Helper()
	accounts := c.Client().CoreV1().ServiceAccounts(ns)
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token.Status.Token
}
