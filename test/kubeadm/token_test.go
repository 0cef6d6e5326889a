package kubeadm

import (
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// The API server takes who has the token of a service account's Secret for that account, until the account is gone.
func TestTokenLogsIn(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	client := c.Client()
	windlass.Start(t, c, windlass.Options{Controllers: []string{"serviceaccount-token"}})
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	_, err := client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), account, metav1.CreateOptions{})
	mustSucceed(t, err)
	_, err = client.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "token", Annotations: map[string]string{corev1.ServiceAccountNameKey: "robot"}},
		Type:       corev1.SecretTypeServiceAccountToken}, metav1.CreateOptions{})
	mustSucceed(t, err)

	var secret *corev1.Secret
	cluster.Eventually(t, cluster.Patience, "the Secret gets a token", func() (bool, string) {
		secret, err = client.CoreV1().Secrets(namespace).Get(t.Context(), "token", metav1.GetOptions{})
		mustSucceed(t, err)
		return len(secret.Data[corev1.ServiceAccountTokenKey]) > 0, ""
	})
	robot := kubernetes.NewForConfigOrDie(&rest.Config{Host: c.RESTConfig().Host,
		TLSClientConfig: rest.TLSClientConfig{CAData: secret.Data[corev1.ServiceAccountRootCAKey]},
		BearerToken:     string(secret.Data[corev1.ServiceAccountTokenKey])})
	review, err := robot.AuthenticationV1().SelfSubjectReviews().Create(t.Context(),
		&authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	mustSucceed(t, err)
	if got := review.Status.UserInfo.Username; got != "system:serviceaccount:default:robot" {
		t.Errorf("the API server takes it for %q", got)
	}

	mustSucceed(t, client.CoreV1().ServiceAccounts(namespace).Delete(t.Context(), "robot", metav1.DeleteOptions{}))
	cluster.Eventually(t, cluster.Patience, "the Secret goes with its account", func() (bool, string) {
		all, err := client.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{})
		mustSucceed(t, err)
		return len(all.Items) == 0, ""
	})
}
