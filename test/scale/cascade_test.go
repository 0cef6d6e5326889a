package scale

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// BenchmarkCascade is the time that 10,000 descendants of one object take to go, 100 of its own and theirs, under
// either manager with the same rate of requests: in the background, and in the foreground. Run it with -benchtime 1x.
func BenchmarkCascade(b *testing.B) {
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground,
		metav1.DeletePropagationForeground} {
		b.Run(string(policy), func(b *testing.B) {
			c := cluster.Start(b, cluster.Options{Audit: true})
			client := unlimited(c)
			run := func(b *testing.B, namespace string) {
				if _, err := client.CoreV1().Namespaces().Create(b.Context(),
					&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if err := createFamily(b.Context(), client, namespace, 100, 99); err != nil {
						b.Fatal(err)
					}
					begin := time.Now()
					if err := client.CoreV1().ConfigMaps(namespace).Delete(b.Context(), "root",
						metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
						b.Fatal(err)
					}
					cluster.Eventually(b, 10*time.Minute, "all are gone", func() (bool, string) {
						n, err := countMembers(b.Context(), client, namespace)
						return err == nil && n == 0, fmt.Sprint(n, " left ", err)
					})
					b.ReportMetric(time.Since(begin).Seconds(), "s/cascade")
					b.ReportMetric(float64(len(c.Audit(b, cluster.Filter{Users: []string{account("generic-garbage-collector")},
						Verbs: []string{"get", "patch", "delete"}, Since: begin}))), "calls")
				}
			}
			windlass.InTurn(b, c, "garbage-collector-controller", []string{"garbage-collector-controller"}, run)
		})
	}
}

func unlimited(c *cluster.Cluster) kubernetes.Interface {
	config := rest.CopyConfig(c.RESTConfig())
	config.QPS = -1
	return kubernetes.NewForConfigOrDie(config)
}

// createFamily makes a root with children that have children.
func createFamily(ctx context.Context, client kubernetes.Interface, namespace string, children,
	grandchildren int) error {
	all := client.CoreV1().ConfigMaps(namespace)
	create := func(name string, owner *corev1.ConfigMap) (*corev1.ConfigMap, error) {
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if owner != nil {
			block := true
			o.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID,
				BlockOwnerDeletion: &block}}
		}
		return all.Create(ctx, o, metav1.CreateOptions{})
	}

	root, err := create("root", nil)
	if err != nil {
		return err
	}

	errs := make([]error, children)
	var g sync.WaitGroup
	for i := range children {
		g.Go(func() {
			child, err := create(fmt.Sprint("child-", i), root)
			for j := 0; j < grandchildren && err == nil; j++ {
				_, err = create(fmt.Sprintf("grandchild-%d-%d", i, j), child)
			}
			errs[i] = err
		})
	}
	g.Wait()
	return errors.Join(errs...)
}

// countMembers counts the family's members.
func countMembers(ctx context.Context, client kubernetes.Interface, namespace string) (int64, error) {
	l, err := client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil || len(l.Items) == 0 {
		return 0, err
	}
	n := int64(1)
	if l.RemainingItemCount != nil {
		n += *l.RemainingItemCount
	}
	return n, nil
}
