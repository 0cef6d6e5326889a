package parity

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedapps "k8s.io/client-go/kubernetes/typed/apps/v1"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/workload"
)

// space is a namespace of one test, with its whole history.
type space struct {
	*testing.T
	ctx         context.Context
	cluster     *cluster.Cluster
	client      kubernetes.Interface
	name        string
	native      bool // the native manager is at work
	deployments typedapps.DeploymentInterface
	sets        typedapps.ReplicaSetInterface
	pods        typedcore.PodInterface

	deploymentHistory history[*appsv1.Deployment]
	setHistory        history[*appsv1.ReplicaSet]
	podHistory        history[*corev1.Pod]
}

// newSpace makes a namespace and returns when pods can be made in it.
func newSpace(t *testing.T, c *cluster.Cluster, name string, native bool) *space {
	t.Helper()
	client := c.Client()
	s := &space{T: t, ctx: t.Context(), cluster: c, client: client, name: name, native: native,
		deployments: client.AppsV1().Deployments(name), sets: client.AppsV1().ReplicaSets(name),
		pods: client.CoreV1().Pods(name)}
	_, err := client.CoreV1().Namespaces().Create(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{})
	s.must(err)
	s.deploymentHistory.startWatch(t, s.deployments.Watch)
	s.setHistory.startWatch(t, s.sets.Watch)
	s.podHistory.startWatch(t, s.pods.Watch)
	s.eventually("service account default", func() (bool, string) {
		_, err := client.CoreV1().ServiceAccounts(name).Get(s.ctx, "default", metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
	return s
}

// catchUp waits until the histories have all that there is.
func (s *space) catchUp() {
	s.Helper()
	s.eventually("the histories catch up", func() (bool, string) {
		deployments, err := s.deployments.List(s.ctx, metav1.ListOptions{})
		s.must(err)
		return s.deploymentHistory.includes(pointers(deployments.Items)) && s.setHistory.includes(pointers(s.listSets())) &&
			s.podHistory.includes(pointers(s.listPods())), ""
	})
}

func pointers[T any](l []T) []*T {
	p := make([]*T, len(l))
	for i := range l {
		p[i] = &l[i]
	}
	return p
}

func (s *space) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// interval is how often a script looks: all are played at a time, and mostly wait.
const interval = 100 * time.Millisecond

func (s *space) eventually(what string, condition func() (bool, string)) {
	s.Helper()
	cluster.Poll(s, interval, patience, what, condition)
}

var labels = map[string]string{"app": "web"}

// template is of pods with one container and a label more than the selector asks for.
func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web", "tier": "front"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
	}
}

// createDeployment makes the Deployment web with image web:1.
func (s *space) createDeployment(replicas int32, options ...func(*appsv1.Deployment)) {
	s.Helper()
	d := workload.Deployment("web", replicas, func(d *appsv1.DeploymentSpec) { d.Template = template() })
	for _, f := range options {
		f(d)
	}
	_, err := s.deployments.Create(s.ctx, d, metav1.CreateOptions{})
	s.must(err)
}

// changeDeployment updates the Deployment, again where its controller was quicker.
func (s *space) changeDeployment(f func(*appsv1.Deployment)) {
	s.Helper()
	s.must(retry.RetryOnConflict(workload.Conflicts, func() error {
		d, err := s.deployments.Get(s.ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		f(d)
		_, err = s.deployments.Update(s.ctx, d, metav1.UpdateOptions{})
		return err
	}))
}

func setImage(name string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = name }
}

func replicas(n int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Replicas = &n }
}

// nowhere makes pods that no node takes: they stay pending.
func nowhere(d *appsv1.Deployment) {
	d.Spec.Template.Spec.NodeSelector = map[string]string{"windlass.dev/nobody": "has"}
}

// somewhere undoes nowhere.
func somewhere(d *appsv1.Deployment) { d.Spec.Template.Spec.NodeSelector = nil }

// hold is a finalizer that keeps deleted pods terminating until letGo.
const hold = "windlass.dev/hold"

func setFinalizer(d *appsv1.Deployment) { d.Spec.Template.Finalizers = []string{hold} }

// releasePods lets all terminating pods end.
func (s *space) releasePods() {
	s.Helper()
	for _, p := range s.listPods() {
		if p.DeletionTimestamp != nil {
			_, err := s.pods.Patch(s.ctx, p.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`),
				metav1.PatchOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				s.Fatal(err)
			}
		}
	}
}

// awaitDeployment waits until the controller has seen all of the Deployment's spec and the condition holds.
func (s *space) awaitDeployment(what string, holds func(*appsv1.Deployment) bool) (d *appsv1.Deployment) {
	s.Helper()
	s.eventually(what, func() (bool, string) {
		var err error
		d, err = s.deployments.Get(s.ctx, "web", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		return d.Status.ObservedGeneration == d.Generation && holds(d),
			fmt.Sprintf("generation %d, status %+v", d.Generation, d.Status)
	})
	return d
}

// complete waits until the Deployment has n available pods of its template, and nothing else.
func (s *space) complete(n int32) *appsv1.Deployment {
	s.Helper()
	return s.awaitDeployment(fmt.Sprintf("%d available replicas", n), func(d *appsv1.Deployment) bool {
		x := d.Status
		return x.Replicas == n && x.UpdatedReplicas == n && x.ReadyReplicas == n && x.AvailableReplicas == n &&
			x.UnavailableReplicas == 0
	})
}

// condition is the Deployment's condition as text: status, reason, message.
func condition(d *appsv1.Deployment, t appsv1.DeploymentConditionType) string {
	for _, c := range d.Status.Conditions {
		if c.Type == t {
			return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
		}
	}
	return ""
}

// reaches waits until the Deployment's condition begins with the text; empty is that there is none.
func (s *space) reaches(t appsv1.DeploymentConditionType, want string) *appsv1.Deployment {
	s.Helper()
	return s.awaitDeployment(fmt.Sprintf("condition %s: %s", t, want), func(d *appsv1.Deployment) bool {
		got := condition(d, t)
		return strings.HasPrefix(got, want) && (want != "" || got == "")
	})
}

// awaitSet waits until the controller has seen all of the set's spec and the condition holds.
func (s *space) awaitSet(name, what string, holds func(*appsv1.ReplicaSet) bool) (rs *appsv1.ReplicaSet) {
	s.Helper()
	s.eventually(what, func() (bool, string) {
		var err error
		rs, err = s.sets.Get(s.ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		return rs.Status.ObservedGeneration == rs.Generation && holds(rs), fmt.Sprintf("%+v", rs.Status)
	})
	return rs
}

func allReady(n int32) func(*appsv1.ReplicaSet) bool {
	return func(rs *appsv1.ReplicaSet) bool {
		x := rs.Status
		return x.Replicas == n && x.ReadyReplicas == n && x.AvailableReplicas == n && x.FullyLabeledReplicas == n &&
			len(x.Conditions) == 0
	}
}

// makeSet makes the ReplicaSet web.
func (s *space) makeSet(replicas int32, options ...func(*appsv1.ReplicaSet)) *appsv1.ReplicaSet {
	s.Helper()
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: labels}, Spec: appsv1.ReplicaSetSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template()}}
	for _, f := range options {
		f(rs)
	}
	rs, err := s.sets.Create(s.ctx, rs, metav1.CreateOptions{})
	s.must(err)
	return rs
}

// patchSet sets a set's spec by a merge patch.
func (s *space) patchSet(name, patch string) {
	s.Helper()
	_, err := s.sets.Patch(s.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	s.must(err)
}

func (s *space) patchPod(name, patch string) {
	s.Helper()
	_, err := s.pods.Patch(s.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	s.must(err)
}

// makePod makes a pod as template has it.
func (s *space) makePod(name string) {
	s.Helper()
	x := template()
	x.ObjectMeta.Name = name
	_, err := s.pods.Create(s.ctx, &corev1.Pod{ObjectMeta: x.ObjectMeta, Spec: x.Spec}, metav1.CreateOptions{})
	s.must(err)
}

func (s *space) getPod(name string) *corev1.Pod {
	s.Helper()
	p, err := s.pods.Get(s.ctx, name, metav1.GetOptions{})
	s.must(err)
	return p
}

func (s *space) listPods() []corev1.Pod {
	s.Helper()
	l, err := s.pods.List(s.ctx, metav1.ListOptions{})
	s.must(err)
	return l.Items
}

func (s *space) listSets() []appsv1.ReplicaSet {
	s.Helper()
	l, err := s.sets.List(s.ctx, metav1.ListOptions{})
	s.must(err)
	return l.Items
}

// setWithImage returns the set whose pods run the image.
func (s *space) setWithImage(image string) *appsv1.ReplicaSet {
	s.Helper()
	l := s.listSets()
	i := slices.IndexFunc(l, func(rs appsv1.ReplicaSet) bool { return rs.Spec.Template.Spec.Containers[0].Image == image })
	if i < 0 {
		s.Fatalf("no set has image %s", image)
	}
	return &l[i]
}

// happened waits for an event about the object.
func (s *space) happened(kind, name, reason, message string) {
	s.Helper()
	s.eventually(fmt.Sprintf("event %s of %s %s: %q", reason, kind, name, message), func() (bool, string) {
		l, err := s.client.CoreV1().Events(s.name).List(s.ctx,
			metav1.ListOptions{FieldSelector: "involvedObject.kind=" + kind + ",involvedObject.name=" + name})
		if err != nil {
			return false, err.Error()
		}
		var seen []string
		for _, e := range l.Items {
			if e.Reason == reason && strings.Contains(e.Message, message) {
				return true, ""
			}
			seen = append(seen, e.Reason+": "+e.Message)
		}
		return false, strings.Join(seen, "\n")
	})
}
