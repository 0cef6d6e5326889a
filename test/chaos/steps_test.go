package chaos

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/windlass-dev/windlass/test/workload"
)

// step is something that users do at once, to several objects.
type step struct {
	name string
	do   func(u *user)
	// until returns when the next step comes; without it, that is when all is at rest.
	until func(w *world, ctx context.Context, namespace string) (bool, string)
}

// user does things in a namespace.
type user struct {
	*world
	namespace string
}

// takenBack is the image of a roll-out that another one follows before it is over.
const takenBack = "main:3"

var steps = []step{
	{name: "new", do: func(u *user) {
		u.deployments(workload.Deployment("rolling", 8, workload.Rolling(2, 1)),
			workload.Deployment("unsurging", 5, workload.Rolling(0, 2)), workload.Deployment("recreated", 4, workload.Recreated),
			workload.Deployment("undone", 4), workload.Deployment("paused", 3), workload.Deployment("scaled", 3))
		for _, name := range []string{"rolling", "scaled"} {
			_, err := u.client.CoreV1().Services(u.namespace).Create(u.Context(), workload.Service(name), metav1.CreateOptions{})
			u.must(err)
		}
		for _, s := range []*appsv1.StatefulSet{workload.StatefulSet("ordered", 4),
			workload.StatefulSet("parallel", 4, parallel)} {
			_, err := u.client.AppsV1().StatefulSets(u.namespace).Create(u.Context(), s, metav1.CreateOptions{})
			u.must(err)
		}
		for _, s := range []*appsv1.DaemonSet{workload.DaemonSet("everywhere"), workload.DaemonSet("surging", surging)} {
			_, err := u.client.AppsV1().DaemonSets(u.namespace).Create(u.Context(), s, metav1.CreateOptions{})
			u.must(err)
		}
		u.createJobs("first")
	}},
	{name: "new images", do: func(u *user) {
		for _, name := range []string{"rolling", "unsurging", "recreated", "undone"} {
			u.setImage(name, "main:2")
		}
		u.patchImage("statefulsets", "ordered", "main:2")
		u.patchImage("statefulsets", "parallel", "main:2")
		u.patchImage("daemonsets", "everywhere", "main:2")
		u.patchImage("daemonsets", "surging", "main:2")
		u.scaleWeb("scaled", 9)
		u.changeWeb("paused", func(d *appsv1.Deployment) {
			six := int32(6)
			d.Spec.Paused, d.Spec.Replicas, d.Spec.Template.Spec.Containers[0].Image = true, &six, "main:2"
		})
	}},
	{name: "rolling over", do: func(u *user) {
		u.setImage("rolling", takenBack)
	}, until: func(w *world, ctx context.Context, namespace string) (bool, string) {
		l, err := w.client.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=rolling"})
		if err != nil {
			return false, err.Error()
		}
		for _, s := range l.Items {
			if s.Spec.Template.Spec.Containers[0].Image == takenBack && s.Status.Replicas > 0 {
				return true, ""
			}
		}
		return false, "no pod of " + takenBack + " yet"
	}},
	{name: "once more, back and down", do: func(u *user) {
		u.setImage("rolling", "main:4")
		u.must(u.web("undone").Undo(u.Context(), "1"))
		u.scaleWeb("scaled", 2)
		u.changeWeb("paused", func(d *appsv1.Deployment) { d.Spec.Paused = false })
		two := []byte(`{"spec":{"replicas":2}}`)
		_, err := u.client.AppsV1().StatefulSets(u.namespace).Patch(u.Context(), "ordered", types.MergePatchType, two,
			metav1.PatchOptions{})
		u.must(err)
		u.createJobs("second")
	}},
	{name: "deleted", do: func(u *user) {
		for name, policy := range map[string]metav1.DeletionPropagation{"scaled": metav1.DeletePropagationForeground,
			"unsurging": metav1.DeletePropagationBackground} {
			u.must(u.client.AppsV1().Deployments(u.namespace).Delete(u.Context(), name,
				metav1.DeleteOptions{PropagationPolicy: &policy}))
		}
		u.scaleWeb("recreated", 6)
	}},
}

func surging(s *appsv1.DaemonSetSpec) {
	one, none := intstr.FromInt32(1), intstr.FromInt32(0)
	s.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxSurge: &one, MaxUnavailable: &none}
}

func (u *user) deployments(all ...*appsv1.Deployment) {
	u.Helper()
	for _, d := range all {
		_, err := u.client.AppsV1().Deployments(u.namespace).Create(u.Context(), d, metav1.CreateOptions{})
		u.must(err)
	}
}

func (u *user) createJobs(name string) {
	u.Helper()
	_, err := u.client.BatchV1().Jobs(u.namespace).Create(u.Context(),
		workload.Job(name+"-indexed", 20, 5, workload.Indexed), metav1.CreateOptions{})
	u.must(err)
	_, err = u.client.BatchV1().Jobs(u.namespace).Create(u.Context(), workload.Job(name+"-plain", 10, 4),
		metav1.CreateOptions{})
	u.must(err)
}

func (u *user) web(name string) workload.Web {
	return workload.Web{Client: u.client, Namespace: u.namespace, Name: name}
}

func (u *user) changeWeb(name string, f func(*appsv1.Deployment)) {
	u.Helper()
	u.must(u.web(name).Change(u.Context(), f))
}

func (u *user) setImage(name, image string) {
	u.Helper()
	u.must(u.web(name).Image(u.Context(), image))
}

func (u *user) scaleWeb(name string, n int32) {
	u.Helper()
	u.must(u.web(name).Scale(u.Context(), n))
}

func (u *user) patchImage(resource, name, image string) {
	u.Helper()
	body := []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"` + image + `"}]}}}}`)
	u.must(u.client.AppsV1().RESTClient().Patch(types.StrategicMergePatchType).Namespace(u.namespace).Resource(
		resource).Name(name).Body(body).Do(u.Context()).Error())
}
