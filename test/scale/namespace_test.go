package scale

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// BenchmarkThousandObjects is the time that a namespace with 1,000 objects takes to go, of which 5 s are a grace of the
// controller's, under either manager with the same rate of requests. Run it with -benchtime 1x.
func BenchmarkThousandObjects(b *testing.B) {
	c := cluster.Start(b, cluster.Options{Audit: true})
	client := c.Client()
	run := func(b *testing.B, name string) {
		for b.Loop() {
			if _, err := client.CoreV1().Namespaces().Create(b.Context(),
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
				b.Fatal(err)
			}

			for i := range 500 {
				meta := metav1.ObjectMeta{Name: fmt.Sprint("object-", i)}
				if _, err := client.CoreV1().ConfigMaps(name).Create(b.Context(), &corev1.ConfigMap{ObjectMeta: meta},
					metav1.CreateOptions{}); err != nil {
					b.Fatal(err)
				}
				if _, err := client.CoreV1().Secrets(name).Create(b.Context(), &corev1.Secret{ObjectMeta: meta},
					metav1.CreateOptions{}); err != nil {
					b.Fatal(err)
				}
			}

			begin := time.Now()
			if err := client.CoreV1().Namespaces().Delete(b.Context(), name, metav1.DeleteOptions{}); err != nil {
				b.Fatal(err)
			}

			cluster.Eventually(b, 5*time.Minute, name+" is gone", func() (bool, string) {
				_, err := client.CoreV1().Namespaces().Get(b.Context(), name, metav1.GetOptions{})
				return apierrors.IsNotFound(err), fmt.Sprint(err)
			})

			b.ReportMetric(time.Since(begin).Seconds(), "s/namespace")
			for _, verb := range []string{"get", "list", "update", "deletecollection"} {
				b.ReportMetric(float64(len(c.Audit(b, cluster.Filter{Users: []string{account("namespace-controller")},
					Verbs: []string{verb}, Since: begin}))), verb)
			}
		}
	}
	windlass.InTurn(b, c, "namespace-controller", []string{"namespace-controller"}, run)
}
