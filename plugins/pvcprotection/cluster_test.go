package pvcprotection

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

// Claims that are deleted at once go with a list for many of them, not one for each. With FULL=1 there are 10,000.
func TestOnClusterClaims(t *testing.T) {
	claims := workload.Size(300, 10_000)
	c := cluster.Start(t, cluster.Options{Audit: true})
	windlass.Start(t, c, windlass.Options{Controllers: []string{"persistentvolumeclaim-protection-controller"}})
	config := rest.CopyConfig(c.RESTConfig())
	config.QPS = -1
	all := kubernetes.NewForConfigOrDie(config).CoreV1().PersistentVolumeClaims("default")

	workqueue.ParallelizeUntil(t.Context(), 32, claims, func(i int) {
		_, err := all.Create(t.Context(), &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("data-", i)},
			Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceStorage: resource.MustParse("1Gi")}}}}, metav1.CreateOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	left := func(lacks func(*corev1.PersistentVolumeClaim) bool) (n int, _ error) {
		l, err := all.List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return 0, err
		}
		for i := range l.Items {
			if lacks(&l.Items[i]) {
				n++
			}
		}
		return n, nil
	}
	await := func(what string, lacks func(*corev1.PersistentVolumeClaim) bool) {
		t.Helper()
		cluster.Eventually(t, cluster.Patience, what, func() (bool, string) {
			n, err := left(lacks)
			return err == nil && n == 0, fmt.Sprint(n, " left, error ", err)
		})
	}
	await("each claim is protected", func(p *corev1.PersistentVolumeClaim) bool { return len(p.Finalizers) == 0 })

	begun := time.Now()
	if err := all.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	await("all are gone", func(*corev1.PersistentVolumeClaim) bool { return true })
	lists := len(c.Audit(t, cluster.Filter{Verbs: []string{"list"}, Resources: []string{"pods"}, Since: begun}))
	if lists == 0 || lists > claims/20 {
		t.Errorf("%d lists for %d claims", lists, claims)
	}
	t.Logf("%d claims went with %d lists in %v", claims, lists, time.Since(begun))
}
