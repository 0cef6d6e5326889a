package world

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PodSpec returns the spec of a pod or a template.
func (r *Rand) PodSpec() corev1.PodSpec {
	s := corev1.PodSpec{Containers: []corev1.Container{r.container("main")}}
	if r.One(5) {
		s.Containers = append(s.Containers, r.container("side"))
	}

	if r.One(8) {
		s.InitContainers = []corev1.Container{r.container("init")}
	}
	if r.One(8) {
		s.TerminationGracePeriodSeconds = Ptr(int64(Of(r, 0, 5, 30)))
	}

	if r.One(8) {
		s.Tolerations = []corev1.Toleration{{
			Key:      Of(r, "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "spot"),
			Operator: corev1.TolerationOpExists,
			Effect:   Of(r, corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule, ""),
		}}
		if s.Tolerations[0].Effect == corev1.TaintEffectNoExecute && !r.One(3) {
			s.Tolerations[0].TolerationSeconds = Ptr(int64(300))
		}
	}

	if r.One(8) {
		s.ServiceAccountName = Of(r, "default", "default", "missing")
	}
	if r.One(10) {
		s.NodeSelector = map[string]string{"disk": Of(r, "ssd", "hdd")}
	}

	if r.One(12) {
		s.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/wait"}}
	}
	return s
}

// images are the names that containers have: some say no version, and some are none.
var images = []string{
	"web:1", "web:1", "web:1", "web:1", "web:2", "web:2", "web:2", "web:2", "web", "web", "web", "web", "web:latest",
	"Web", "${IMAGE}", "web@sha256:1",
}

func (r *Rand) container(name string) corev1.Container {
	c := corev1.Container{Name: name, Image: Of(r, images...)}
	if r.One(4) {
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(Of(r, "100m", "1", "0.5"))}
	}
	if r.One(6) {
		c.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: int32(Of(r, 80, 8080))}}
	}
	if r.One(10) {
		c.Env = []corev1.EnvVar{{Name: "A", Value: Of(r, "1", "2", "")}}
	}
	if r.One(10) {
		c.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
			TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(80)},
		}}
	}
	return c
}

// Template returns a pod template with these labels.
func (r *Rand) Template(labels map[string]string) corev1.PodTemplateSpec {
	t := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: r.PodSpec()}
	if r.One(5) {
		t.Annotations = map[string]string{"example.com/note": Of(r, "a", "b")}
	}
	if r.One(10) {
		t.Finalizers = []string{"example.com/stay"}
	}
	return t
}

// Pod returns a pod of that name in any state of its life.
func (r *Rand) Pod(name string, labels map[string]string, spec corev1.PodSpec) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: Namespace, UID: r.UID(), Labels: labels, CreationTimestamp: r.Ago(2000),
	}, Spec: spec}
	if !r.One(4) {
		p.Spec.NodeName = fmt.Sprintf("node-%d", r.IntN(3))
		p.Spec.SchedulingGates = nil
	}
	if r.One(6) {
		p.Annotations = map[string]string{corev1.PodDeletionCost: Of(r, "10", "-5", "0", "x", "+1")}
	}
	if r.One(8) {
		p.Finalizers = []string{"example.com/stay"}
	}
	r.Live(p)
	if r.One(8) {
		r.End(p)
	}
	return p
}

// Live gives a pod a status as kubelets leave it, at any moment of its life.
func (r *Rand) Live(p *corev1.Pod) {
	p.Status = corev1.PodStatus{Phase: Of(r, corev1.PodPending, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning,
		corev1.PodSucceeded, corev1.PodFailed, corev1.PodUnknown)}
	if p.Spec.NodeName == "" && !r.One(4) {
		p.Status.Phase = corev1.PodPending
		return
	}
	if r.One(10) {
		return
	}

	ready := corev1.PodCondition{Type: corev1.PodReady, Status: Of(r, corev1.ConditionTrue, corev1.ConditionTrue,
		corev1.ConditionFalse)}
	if !r.One(10) {
		ready.LastTransitionTime = r.Ago(1500)
	}
	if p.Status.Phase != corev1.PodRunning && !r.One(5) {
		ready.Status = corev1.ConditionFalse
	}

	p.Status.Conditions = append(p.Status.Conditions, ready)
	for _, c := range p.Spec.Containers {
		s := corev1.ContainerStatus{Name: c.Name, Image: c.Image, RestartCount: int32(Of(r, 0, 0, 0, 1, 5)),
			Ready: ready.Status == corev1.ConditionTrue}
		switch p.Status.Phase {
		case corev1.PodRunning:
			s.State.Running = &corev1.ContainerStateRunning{StartedAt: r.Ago(1500)}
		case corev1.PodSucceeded, corev1.PodFailed:
			s.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: int32(Of(r, 0, 1, 42, 137)), FinishedAt: r.Ago(900)}
		}
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, s)
	}

	if !r.One(4) {
		t := r.Ago(1500)
		p.Status.StartTime = &t
	}
	if r.One(10) {
		p.Status.Reason = Of(r, "Evicted", "NodeLost")
	}
}

// End has an object on its way out, as it is while a grace period or a finalizer keeps it.
func (r *Rand) End(o metav1.Object) {
	t := r.Ago(60)
	o.SetDeletionTimestamp(&t)
	o.SetDeletionGracePeriodSeconds(Ptr(int64(Of(r, 0, 30))))
	if len(o.GetFinalizers()) == 0 && *o.GetDeletionGracePeriodSeconds() == 0 {
		o.SetFinalizers([]string{"example.com/stay"})
	}
}

// Lived says whose a pod is and how it has fared: since when it is ready or isn't, and how often it was restarted.
func Lived(p *corev1.Pod) (text string) {
	if owner := metav1.GetControllerOf(p); owner != nil {
		text += string(owner.UID)
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			text += fmt.Sprint(c.Status, c.LastTransitionTime)
		}
	}
	for _, c := range p.Status.ContainerStatuses {
		text += fmt.Sprint(c.RestartCount)
	}
	return text
}

// Ranked says what of a pod the ranking of pods to delete looks at, beside where it is: among equals upstream takes
// what its cache lists first. Ages of one order of magnitude go by UIDs, which are random where a controller has made
// the pod, so the age of such a pod says nothing.
func Ranked(p *corev1.Pod) string {
	text := fmt.Sprint(p.Status.Phase, p.Annotations[corev1.PodDeletionCost], p.DeletionTimestamp, p.Finalizers)
	if p.GenerateName == "" {
		text += p.CreationTimestamp.String()
	}
	return text + Lived(p)
}
