package statefulset

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// The end of a claim wakes its set: one that a pod waits for is made anew, and behind one of a former pod a new pod is
// made. Nobody makes volumes here, so the pods wait for ever.
func TestOnClusterEndOfClaims(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 1})
	windlass.Start(t, c, windlass.Options{Controllers: []string{"serviceaccount-controller", "statefulset-controller"}})
	ctx, client := t.Context(), c.Client()
	pods, sets, claims := client.CoreV1().Pods("default"), client.AppsV1().StatefulSets("default"),
		client.CoreV1().PersistentVolumeClaims("default")
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	pod := func(name string, there bool) {
		t.Helper()
		cluster.Eventually(t, time.Minute, fmt.Sprintf("%s there: %v", name, there), func() (bool, string) {
			_, err := pods.Get(ctx, name, metav1.GetOptions{})
			return (err == nil) == there, fmt.Sprint(err)
		})
	}
	scale := func(n int) {
		t.Helper()
		must(sets.Patch(ctx, "web", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n),
			metav1.PatchOptions{}))
	}
	end := func(name string) types.UID { // also without the controller that takes its finalizer
		t.Helper()
		x, err := claims.Get(ctx, name, metav1.GetOptions{})
		must(x, err)
		must(claims.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}))
		must(nil, claims.Delete(ctx, name, metav1.DeleteOptions{}))
		return x.UID
	}
	cluster.Eventually(t, time.Minute, "service account default", func() (bool, string) {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})

	labels, two := map[string]string{"app": "web"}, int32(2)
	data := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			}}}
	must(sets.Create(ctx, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.StatefulSetSpec{Replicas: &two, ServiceName: "web",
			PodManagementPolicy: appsv1.ParallelPodManagement, Selector: &metav1.LabelSelector{MatchLabels: labels},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{data},
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
			},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}}}}}, metav1.CreateOptions{}))
	pod("web-0", true)
	pod("web-1", true)

	lost := end("data-web-0")
	cluster.Eventually(t, time.Minute, "the claim anew", func() (bool, string) {
		x, err := claims.Get(ctx, "data-web-0", metav1.GetOptions{})
		return err == nil && x.UID != lost, fmt.Sprint(err)
	})

	scale(1)
	pod("web-1", false)
	scale(2) // which waits: no collector runs that would delete the former pod's claim
	cluster.Eventually(t, time.Minute, "the set's sync", func() (bool, string) {
		s, err := sets.Get(ctx, "web", metav1.GetOptions{})
		return err == nil && s.Status.ObservedGeneration == s.Generation, fmt.Sprint(err)
	})
	if _, err := pods.Get(ctx, "web-1", metav1.GetOptions{}); err == nil {
		t.Error("web-1 was made, though a former pod's claim is in its way")
	}
	end("data-web-1")
	pod("web-1", true)
}
