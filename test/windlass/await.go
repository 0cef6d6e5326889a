package windlass

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/test/cluster"
)

// Namespace makes a namespace.
func Namespace(t testing.TB, client kubernetes.Interface, name string) {
	t.Helper()
	if _, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Account waits for a namespace's service account, without which admission refuses pods.
func Account(t testing.TB, client kubernetes.Interface, namespace string) {
	t.Helper()
	cluster.Eventually(t, time.Minute, "service account default", func() (bool, string) {
		_, err := client.CoreV1().ServiceAccounts(namespace).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
}

// Settle waits until there have been no writes for so long; writes gives those since a time.
func Settle(t testing.TB, quiet time.Duration, writes func(since time.Time) []cluster.Event) {
	t.Helper()
	last := time.Now()
	cluster.Poll(t, 200*time.Millisecond, 3*time.Minute+quiet, "the cluster settles", func() (bool, string) {
		for _, e := range writes(last) {
			if e.Time.After(last) {
				last = e.Time
			}
		}
		return time.Since(last) > quiet, "last write at " + last.String()
	})
}
