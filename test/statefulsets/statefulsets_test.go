package statefulsets

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

func parallel(s *appsv1.StatefulSet) { s.Spec.PodManagementPolicy = appsv1.ParallelPodManagement }

// stuck keeps pods from being scheduled.
func stuck(s *appsv1.StatefulSet) {
	s.Spec.Template.Spec.NodeSelector = map[string]string{"nowhere": "here"}
}

func claiming(deleted, scaled appsv1.PersistentVolumeClaimRetentionPolicyType) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) {
		s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: apiresource.MustParse("1Gi")}}}}}
		s.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: deleted, WhenScaled: scaled}
	}
}

const (
	remove = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	retain = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
)

// A set's life: pods come one after another, are replaced from the top down to the partition, and go from the top; and a manager that is stopped midway changes nothing of it.
func TestOrder(t *testing.T) {
	w := newWorld(t, cluster.Options{Nodes: 3, Audit: true})
	m := w.start()

	d := w.watch("web", true)
	w.create(set("web", 4))
	w.await("web", "four pods", rolled(4))
	if got := d.End(t); got != "+web-0 +web-1 +web-2 +web-3" {
		t.Errorf("creation: %s", got)
	}
	w.c.OwnPodsOnly(t, namespace)

	d = w.watch("web", true)
	w.patch("web", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":2}}}}`)
	w.image("web", "web:2")
	w.await("web", "two updated", func(s *appsv1.StatefulSet) bool {
		return s.Status.UpdatedReplicas == 2 && s.Status.CurrentReplicas == 2 && s.Status.AvailableReplicas == 4
	})
	if got := d.End(t); got != "-web-3 +web-3 -web-2 +web-2" {
		t.Errorf("update down to the partition: %s", got)
	}
	if got, want := w.images("web"), (map[string]string{"web-0": "web:1", "web-1": "web:1", "web-2": "web:2", "web-3": "web:2"}); !maps.Equal(got, want) {
		t.Errorf("images %v", got)
	}
	// A pod below the partition comes back as it was, though the set's template is another.
	w.must(w.client.CoreV1().Pods(namespace).Delete(t.Context(), "web-0", metav1.DeleteOptions{}))
	w.eventually("web-0 comes back", func() (bool, string) {
		p, err := w.client.CoreV1().Pods(namespace).Get(t.Context(), "web-0", metav1.GetOptions{})
		return err == nil && p.DeletionTimestamp == nil && workload.Ready(p) && p.Spec.Containers[0].Image == "web:1", fmt.Sprint(err)
	})

	d = w.watch("web", true)
	w.patch("web", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}},"template":{"spec":{"containers":[{"name":"web","image":"web:3"}]}}}}`)
	w.eventually("the roll-out begins", func() (bool, string) { return strings.Contains(d.Text(), "+web-3"), d.Text() })
	m.Stop(t)
	m = w.start()
	w.await("web", "all updated", rolled(4))
	if got := d.End(t); got != "-web-3 +web-3 -web-2 +web-2 -web-1 +web-1 -web-0 +web-0" {
		t.Errorf("update with a restart midway: %s", got)
	}

	d = w.watch("web", true)
	w.patch("web", `{"spec":{"replicas":1}}`)
	w.await("web", "one pod", rolled(1))
	if got := d.End(t); got != "-web-3 -web-2 -web-1" {
		t.Errorf("scale down: %s", got)
	}

	revisions, err := w.client.AppsV1().ControllerRevisions(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	w.must(err)
	if len(revisions.Items) != 3 {
		t.Errorf("%d revisions", len(revisions.Items))
	}
	w.image("web", "web:1")
	w.patch("web", `{"spec":{"revisionHistoryLimit":1}}`)
	w.await("web", "back to the first template", rolled(1))
	w.eventually("the history is cut", func() (bool, string) {
		l, err := w.client.AppsV1().ControllerRevisions(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
		newest := int64(0)
		for _, r := range l.Items {
			newest = max(newest, r.Revision)
		}
		return err == nil && len(l.Items) == 2 && newest == 4, fmt.Sprint(err, len(l.Items), newest)
	})
	w.eventually("event SuccessfulDelete", func() (bool, string) {
		l, err := w.client.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=SuccessfulDelete,involvedObject.name=web,source=statefulset-controller"})
		return err == nil && len(l.Items) > 0 && strings.HasSuffix(l.Items[0].Message, " in StatefulSet web successful"), fmt.Sprint(err)
	})

	t.Log("parallel")
	w.create(set("many", 5, parallel, stuck))
	w.await("many", "all pods at once, though none runs", func(s *appsv1.StatefulSet) bool { return s.Status.Replicas == 5 && s.Status.ReadyReplicas == 0 })
	w.patch("many", `{"spec":{"template":{"spec":{"nodeSelector":null}}}}`)
	w.await("many", "stuck pods replaced", rolled(5))
	w.patch("many", `{"spec":{"replicas":0}}`)
	w.await("many", "none", rolled(0))

	t.Log("claims")
	w.create(set("db", 2, parallel, claiming(remove, remove)))
	owned := func(claim, kind string) {
		t.Helper()
		w.eventually(claim+" belongs to the "+kind, func() (bool, string) {
			x, err := w.client.CoreV1().PersistentVolumeClaims(namespace).Get(t.Context(), claim, metav1.GetOptions{})
			return err == nil && len(x.OwnerReferences) == 1 && x.OwnerReferences[0].Kind == kind, fmt.Sprint(err, x.OwnerReferences)
		})
	}
	owned("data-db-0", "StatefulSet")
	owned("data-db-1", "StatefulSet")
	p, err := w.client.CoreV1().Pods(namespace).Get(t.Context(), "db-1", metav1.GetOptions{})
	w.must(err)
	if v := p.Spec.Volumes[0]; v.Name != "data" || v.PersistentVolumeClaim == nil || v.PersistentVolumeClaim.ClaimName != "data-db-1" || p.Spec.Hostname != "db-1" || p.Spec.Subdomain != "db" {
		t.Errorf("db-1 is not as it should be: %+v", p.Spec)
	}
	w.patch("db", `{"spec":{"replicas":1}}`)
	owned("data-db-1", "Pod")
	w.await("db", "one pod", func(s *appsv1.StatefulSet) bool { return s.Status.Replicas == 1 })
	w.patch("db", `{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain"}}}`)
	w.eventually("data-db-0 belongs to nobody", func() (bool, string) {
		x, err := w.client.CoreV1().PersistentVolumeClaims(namespace).Get(t.Context(), "data-db-0", metav1.GetOptions{})
		return err == nil && len(x.OwnerReferences) == 0, fmt.Sprint(err, x.OwnerReferences)
	})
	// No garbage collector runs here: the claim of the scaled-down pod is still there, and nobody may have it back.
	w.patch("db", `{"spec":{"replicas":2}}`)
	w.await("db", "db-1 waits", func(s *appsv1.StatefulSet) bool { return s.Status.Replicas == 1 })
	_, err = w.client.CoreV1().PersistentVolumeClaims(namespace).Patch(t.Context(), "data-db-1", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	w.must(err)
	w.must(w.client.CoreV1().PersistentVolumeClaims(namespace).Delete(t.Context(), "data-db-1", metav1.DeleteOptions{}))
	w.patch("db", `{"spec":{"minReadySeconds":1}}`) // claims wake nobody
	w.await("db", "two pods again", func(s *appsv1.StatefulSet) bool { return s.Status.Replicas == 2 })
	windlass.ExpectRoles(t, w.c)
	m.Stop(t)
}

// A revision that another version of the API server wrote lacks a member that this one fills in by default: it means the same, and no pod is replaced.
func TestDefaults(t *testing.T) {
	w := newWorld(t, cluster.Options{Nodes: 1})
	w.create(set("web", 1))
	s, err := w.get("web")
	w.must(err)
	raw, err := json.Marshal(s.Spec.Template)
	w.must(err)
	var template map[string]any
	w.must(json.Unmarshal(raw, &template))
	template["$patch"] = "replace"
	spec := template["spec"].(map[string]any)
	if _, ok := spec["dnsPolicy"]; !ok {
		t.Fatal("the API server sets no dnsPolicy")
	}
	delete(spec, "dnsPolicy")
	delete(spec["containers"].([]any)[0].(map[string]any), "terminationMessagePath")
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"template": template}})
	w.must(err)
	_, err = w.client.AppsV1().ControllerRevisions(namespace).Create(t.Context(), &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: "web-old", Labels: s.Spec.Template.Labels, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}},
		Data:       runtime.RawExtension{Raw: data}, Revision: 1,
	}, metav1.CreateOptions{})
	w.must(err)

	w.start()
	w.await("web", "one pod of the old revision", func(s *appsv1.StatefulSet) bool { return rolled(1)(s) && s.Status.UpdateRevision == "web-old" })
	w.patch("web", `{"spec":{"template":{"spec":{"dnsPolicy":"Default"}}}}`)
	w.await("web", "one pod of a new revision", func(s *appsv1.StatefulSet) bool { return rolled(1)(s) && s.Status.UpdateRevision != "web-old" })
}

// Converged sets pass from the native manager to Windlass and back without a write: revisions are the same bytes under the same names.
func TestTakeover(t *testing.T) {
	w := newWorld(t, cluster.Options{Nodes: 3, Audit: true})
	stop := w.c.Native(t, controllers)
	w.create(set("web", 8))
	w.create(set("half", 4, parallel, func(s *appsv1.StatefulSet) {
		two := int32(2)
		s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &two}}
		s.Annotations = map[string]string{"note": "kept"}
	}))
	w.create(set("db", 2, parallel, claiming(remove, retain)))
	w.create(set("lazy", 2, func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType }))
	half := func(s *appsv1.StatefulSet) bool {
		return s.Status.UpdatedReplicas == 2 && s.Status.CurrentReplicas == 2 && s.Status.AvailableReplicas == 4
	}
	w.await("web", "created", rolled(8))
	w.await("half", "created", rolled(4))
	w.await("lazy", "created", rolled(2))
	for _, name := range []string{"web", "half", "lazy"} {
		w.image(name, "web:2")
	}
	w.await("web", "updated", rolled(8))
	w.await("half", "updated by half", half)
	w.await("db", "created", func(s *appsv1.StatefulSet) bool { return s.Status.Replicas == 2 })
	w.settle()
	stop()
	if len(w.writes(time.Time{})) == 0 {
		t.Fatal("none of the native controller's writes are seen")
	}

	t.Log("from native to Windlass")
	since := time.Now()
	m := w.start()
	w.eventually("all sets are synced", func() (bool, string) {
		n := m.Count(t, "windlass_syncs_total", "controller", "statefulset-controller", "result", "ok")
		return n >= 4, fmt.Sprint(n)
	})
	w.settle()
	for _, e := range w.writes(since) {
		t.Errorf("Windlass wrote: %v", e)
	}

	// A roll-out and a rollback by Windlass, a new set, and revisions that native has to find right.
	w.image("web", "web:1")
	w.create(set("new", 3))
	w.await("web", "rolled back", rolled(8))
	w.await("new", "created", rolled(3))
	w.image("new", "web:2")
	w.await("new", "updated", rolled(3))
	w.settle()
	m.Stop(t)
	if len(w.writes(since)) == 0 {
		t.Fatal("none of Windlass's writes are seen")
	}

	t.Log("from Windlass to native")
	since = time.Now()
	stop = w.c.Native(t, controllers)
	w.eventually("the native manager reads", func() (bool, string) {
		return len(w.c.Audit(t, cluster.Filter{Verbs: []string{"list", "watch", "get", "create"}, Users: []string{"system:serviceaccount:kube-system:statefulset-controller", "system:kube-controller-manager"}, Since: since})) > 0, ""
	})
	w.settle()
	for _, e := range w.writes(since) {
		t.Errorf("native wrote: %v", e)
	}
	w.patch("new", `{"spec":{"replicas":4}}`) // it does work, and so it did have the chance to write
	w.await("new", "scaled", rolled(4))
	stop()
}
