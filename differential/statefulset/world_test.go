package statefulset

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	upstream "k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/kubernetes/pkg/features"
	_ "unsafe" // for go:linkname

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/world"
)

//go:linkname newRevision k8s.io/kubernetes/pkg/controller/statefulset.newRevision
func newRevision(set *appsv1.StatefulSet, revision int64, collisions *int32) (*appsv1.ControllerRevision, error)

// objects are one or two sets with their revisions, pods and claims, and what comes near to being theirs.
func objects(r *world.Rand) []runtime.Object {
	var all []runtime.Object
	if r.One(3) {
		all = append(all, limitRange(r))
	}

	for i := range 1 + r.IntN(2) {
		s := set(r, []string{"web", "web-1"}[i])
		past := history(r, s)
		status(r, s, past)
		all = append(all, s)
		for _, v := range past {
			all = append(all, v)
		}
		well := !r.One(3)
		for n := range 2 + r.IntN(5) {
			n += start(s)
			if r.One(5) {
				continue
			}
			p := pod(r, s, n, past, well)
			all = append(all, p)
			all = append(all, claimsOf(r, s, p, n)...)
		}
		if r.One(4) {
			all = append(all, claimsOf(r, s, nil, start(s)+r.IntN(6))...)
		}
	}
	return all
}

func start(s *appsv1.StatefulSet) int {
	if s.Spec.Ordinals != nil {
		return int(s.Spec.Ordinals.Start)
	}
	return 0
}

func limitRange(r *world.Rand) *corev1.LimitRange {
	return &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("limits-%d", r.IntN(3)), Namespace: world.Namespace,
			UID: r.UID()},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type:           corev1.LimitTypeContainer,
			DefaultRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
			Max:            corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(world.Of(r, "2", "500m"))},
			Default:        corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")},
		}}},
	}
}

func set(r *world.Rand, name string) *appsv1.StatefulSet {
	labels := map[string]string{"app": world.Of(r, "web", "web", "db")}
	s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: world.Namespace, UID: r.UID(), CreationTimestamp: r.Ago(3000),
		Generation: int64(2 + r.IntN(3)),
	}}

	s.Spec.Replicas = world.Maybe(r, int32(r.IntN(5)))
	s.Spec.ServiceName = world.Of(r, "web", "", "none")
	s.Spec.MinReadySeconds = int32(world.Of(r, 0, 0, 0, 30, 600))
	s.Spec.PodManagementPolicy = world.Of(r, appsv1.OrderedReadyPodManagement, appsv1.OrderedReadyPodManagement,
		appsv1.ParallelPodManagement, "")
	s.Spec.RevisionHistoryLimit = world.Maybe(r, int32(world.Of(r, 0, 1, 2, 10)))
	s.Spec.Template = r.Template(labels)
	s.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": labels["app"]}}
	if r.One(8) {
		s.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web", "db"},
		}}}
	}

	if r.One(5) {
		s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: int32(r.IntN(3))}
	}
	if r.One(5) {
		s.Annotations = map[string]string{"example.com/by": world.Of(r, "a", "b")}
	}

	strategy(r, s)
	retention(r, s)
	for i := range world.Of(r, 0, 0, 1, 1, 2) {
		s.Spec.VolumeClaimTemplates = append(s.Spec.VolumeClaimTemplates, claim(r, []string{"data", "log"}[i]))
	}

	if len(s.Spec.VolumeClaimTemplates) == 0 && r.One(6) || r.One(12) {
		s.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: world.Of(r, "data", "tmp")}}
	}
	if r.One(8) {
		s.Finalizers = []string{"example.com/stay"}
	}

	if r.One(12) {
		r.End(s)
	}
	return s
}

func strategy(r *world.Rand, s *appsv1.StatefulSet) {
	u := &s.Spec.UpdateStrategy
	*u = appsv1.StatefulSetUpdateStrategy{Type: world.Of(r, appsv1.RollingUpdateStatefulSetStrategyType,
		appsv1.RollingUpdateStatefulSetStrategyType, appsv1.RollingUpdateStatefulSetStrategyType,
		appsv1.OnDeleteStatefulSetStrategyType, "")}
	if recreates() && r.One(2) {
		u.Type = appsv1.RecreateStatefulSetStrategyType
	}
	switch {
	case u.Type == appsv1.OnDeleteStatefulSetStrategyType, u.Type == appsv1.RecreateStatefulSetStrategyType, r.One(4):
		return
	}
	u.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: world.Maybe(r, int32(world.Of(r, 0, 0, 0,
		1, 2, 9)))}
	if r.One(2) {
		u.RollingUpdate.MaxUnavailable = world.Ptr(world.Of(r, intstr.FromInt32(1), intstr.FromInt32(2),
			intstr.FromInt32(9),
			intstr.FromString("50%"), intstr.FromString("10%"), intstr.FromString("100%")))
	}
}

// recreates reports whether a server admits sets whose strategy is Recreate.
func recreates() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.StatefulSetRecreateStrategy)
}

func retention(r *world.Rand, s *appsv1.StatefulSet) {
	s.Spec.PersistentVolumeClaimRetentionPolicy = nil
	if r.One(3) {
		return
	}
	const keep, drop = appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
		appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	s.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenDeleted: world.Of(r, keep, drop), WhenScaled: world.Of(r, keep, drop),
	}
}

func claim(r *world.Rand, name string) corev1.PersistentVolumeClaim {
	x := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if r.One(3) {
		x.Labels = map[string]string{"app": "else", "disk": "fast"}
	}
	x.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	x.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(world.Of(r, "1Gi",
		"2Gi"))}
	return x
}

// edit changes a template as people do: to something else, or to what admission would make of a pod anyway.
func edit(r *world.Rand, t *corev1.PodTemplateSpec) {
	s, main := &t.Spec, &t.Spec.Containers[0]
	switch i := r.IntN(18); i {
	default:
		main.Image = fmt.Sprintf("web:%d", r.IntN(4))
	case 2:
		s.ServiceAccountName = world.Of(r, "default", "")
		s.DeprecatedServiceAccount = s.ServiceAccountName
	case 3:
		s.Tolerations = nil
		for _, key := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
			s.Tolerations = append(s.Tolerations, corev1.Toleration{
				Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
				TolerationSeconds: world.Ptr(int64(300)),
			})
		}

	case 4:
		main.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
		main.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}
	case 5:
		t.Annotations = map[string]string{"example.com/restarted": strconv.Itoa(r.IntN(3))}
	case 6:
		s.AutomountServiceAccountToken = world.Of(r, nil, world.Ptr(false), world.Ptr(true))
	case 7:
		s.EnableServiceLinks = world.Of(r, nil, world.Ptr(true), world.Ptr(false))
	case 8:
		t.Labels["tier"] = world.Of(r, "front", "back")
	}
}

// history is a set's past templates as revisions: in any order, some printed without the defaults, orphaned,
// released, foreign or doubled.
func history(r *world.Rand, s *appsv1.StatefulSet) (all []*appsv1.ControllerRevision) {
	t := s.Spec.Template
	for i := range world.Of(r, 0, 1, 1, 2, 3, 4) {
		x := s.DeepCopy()
		for range i {
			edit(r, &x.Spec.Template)
		}
		if !r.One(6) {
			legacyscheme.Scheme.Default(x)
		}
		v, err := newRevision(x, int64(world.Of(r, 5-i, 5-i, 5-i, 3)), world.Maybe(r, int32(r.IntN(2))))
		if err != nil {
			panic(err) // of a set that was made here
		}
		v.Namespace, v.UID, v.CreationTimestamp = world.Namespace, r.UID(), r.Ago(3000)
		switch r.IntN(24) {
		case 0:
			v.OwnerReferences = nil
		case 1:
			v.OwnerReferences[0].UID = r.UID()
		case 2:
			v.Labels["app"] = "other"
		}
		all = append(all, v)
	}

	s.Spec.Template = t
	return all
}

func status(r *world.Rand, s *appsv1.StatefulSet, past []*appsv1.ControllerRevision) {
	n := func() int32 { return int32(r.IntN(4)) }
	s.Status = appsv1.StatefulSetStatus{
		ObservedGeneration: int64(r.IntN(4)), Replicas: n(), ReadyReplicas: n(), AvailableReplicas: n(),
		CurrentReplicas: n(), UpdatedReplicas: n(),
		CurrentRevision: name(r, past), UpdateRevision: name(r, past), CollisionCount: world.Maybe(r,
			int32(r.IntN(2))),
	}
	if r.One(10) {
		s.Status.Conditions = []appsv1.StatefulSetCondition{{Type: "Example", Status: corev1.ConditionTrue,
			LastTransitionTime: r.Ago(100)}}
	}
	if s.Spec.UpdateStrategy.Type == appsv1.RecreateStatefulSetStrategyType && r.One(2) {
		s.Status.Conditions = append(s.Status.Conditions, progressing(r))
	}
}

// progressing is a condition that a Recreate has left at one of its steps.
func progressing(r *world.Rand) appsv1.StatefulSetCondition {
	c := appsv1.StatefulSetCondition{Type: appsv1.StatefulSetProgressing, LastTransitionTime: r.Ago(100)}
	c.Status, c.Reason = corev1.ConditionTrue, upstream.RecreateInProgressReason
	c.Message = world.Of(r, "Deleting old revision pods", "Waiting for new-revision pods to be created")
	if r.One(3) {
		c.Status, c.Reason = corev1.ConditionFalse, upstream.RecreateCompletedReason
		c.Message = "All pods recreated successfully"
	}
	return c
}

func name(r *world.Rand, past []*appsv1.ControllerRevision) string {
	if len(past) == 0 || r.One(6) {
		return world.Of(r, "", "web-gone")
	}
	return past[r.IntN(len(past))].Name
}

// pod is one that could be the set's pod of that ordinal.
func pod(r *world.Rand, s *appsv1.StatefulSet, n int, past []*appsv1.ControllerRevision, well bool) *corev1.Pod {
	called := fmt.Sprintf("%s-%d", s.Name, n)
	if r.One(30) {
		called = fmt.Sprintf("%s-0%d", s.Name, n)
	}

	labels := map[string]string{
		"app": s.Spec.Template.Labels["app"], appsv1.StatefulSetPodNameLabel: called,
		appsv1.PodIndexLabel: strconv.Itoa(n), appsv1.StatefulSetRevisionLabel: name(r, past),
	}
	switch r.IntN(20) {
	case 0:
		delete(labels, appsv1.StatefulSetPodNameLabel)
	case 1:
		labels[appsv1.StatefulSetPodNameLabel] = "other"
	case 2:
		labels["app"] = "other"
	case 3:
		delete(labels, appsv1.StatefulSetRevisionLabel)
	}

	p := r.Pod(called, labels, *s.Spec.Template.Spec.DeepCopy())
	p.Spec.Hostname, p.Spec.Subdomain = p.Name, s.Spec.ServiceName
	p.Spec.Volumes = nil
	for _, x := range s.Spec.VolumeClaimTemplates {
		if r.One(20) {
			continue
		}
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: x.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprintf("%s-%s-%d",
				x.Name, s.Name, n)},
		}})
	}

	switch {
	case !r.One(12):
		p.OwnerReferences = []metav1.OwnerReference{world.Owner("apps/v1", "StatefulSet", s.Name, s.UID)}
	case r.One(3):
		p.OwnerReferences = []metav1.OwnerReference{world.Owner("apps/v1", "StatefulSet", s.Name, r.UID())}
	}

	if well && !r.One(8) {
		healthy(r, p)
	} else {
		real(r, p)
	}
	return p
}

// real mends what no kubelet says: a pod is ready only while it runs. The scheduler tells why one waits.
func real(r *world.Rand, p *corev1.Pod) {
	if p.Status.Phase == corev1.PodRunning {
		return
	}
	for i := range p.Status.Conditions {
		if x := &p.Status.Conditions[i]; x.Type == corev1.PodReady {
			x.Status = corev1.ConditionFalse
		}
	}
	if p.Status.Phase == corev1.PodPending {
		unscheduled(r, p)
	}
}

func healthy(r *world.Rand, p *corev1.Pod) {
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: r.Ago(world.Of(r, 20, 1500))},
	}}
}

// unscheduled has the scheduler say why a pod has no node.
func unscheduled(r *world.Rand, p *corev1.Pod) {
	for i := range p.Status.Conditions {
		if x := &p.Status.Conditions[i]; x.Type == corev1.PodScheduled {
			x.Message, x.Reason = message(r), corev1.PodReasonUnschedulable
			return
		}
	}
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		Message: message(r), LastTransitionTime: r.Ago(300),
	})
}

func message(r *world.Rand) string {
	return world.Of(r, "0/3 nodes are available", `persistentvolumeclaim "data-web-0" not found`,
		"0/4 nodes are available")
}

// claimsOf are some of the claims of a pod, which may not be there, with owners of all kinds.
func claimsOf(r *world.Rand, s *appsv1.StatefulSet, p *corev1.Pod, n int) (all []runtime.Object) {
	for i := range s.Spec.VolumeClaimTemplates {
		if r.One(4) {
			continue
		}
		x := s.Spec.VolumeClaimTemplates[i].DeepCopy()
		x.Name, x.Namespace, x.UID = fmt.Sprintf("%s-%s-%d", x.Name, s.Name, n), world.Namespace, r.UID()
		owners(r, x, s, p, fmt.Sprintf("%s-%d", s.Name, n))
		if r.One(12) {
			x.Finalizers = []string{"kubernetes.io/pvc-protection"}
			r.End(x)
		}
		all = append(all, x)
	}
	return all
}

func owners(r *world.Rand, x *corev1.PersistentVolumeClaim, s *appsv1.StatefulSet, p *corev1.Pod, podName string) {
	podUID := r.UID()
	if p != nil && !r.One(6) {
		podUID = p.UID
	}

	refs := []metav1.OwnerReference{
		world.Owner("apps/v1", "StatefulSet", s.Name, s.UID), world.Owner("v1", "Pod", podName, podUID),
		world.Owner("apps/v1", "StatefulSet", s.Name, r.UID()), world.Owner("example.com/v1", "Store", "store",
			r.UID()),
	}

	x.OwnerReferences = nil
	if !r.One(3) {
		if w := s.Spec.PersistentVolumeClaimRetentionPolicy; w != nil &&
			w.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
			x.OwnerReferences = refs[:1]
		}
		return
	}

	switch i := r.IntN(7); {
	case i == 0:
	case i < 5:
		x.OwnerReferences = refs[i-1 : i]
	case i == 5:
		x.OwnerReferences = refs[:2]
		x.OwnerReferences[1].Controller = nil
	default:
		x.OwnerReferences = []metav1.OwnerReference{refs[0], refs[3]}
		x.OwnerReferences[r.IntN(2)].Controller = nil
	}
}

// lost has a waiting pod's claim go, or somebody change its owners, and the scheduler say something else of the pod.
func lost(r *world.Rand, c *api.Cluster) (string, error) {
	all, err := c.List(differential.Pods)
	if err != nil {
		return "", err
	}
	slices.SortStableFunc(all, func(a, b runtime.Object) int { return cmp.Compare(unplaced(b), unplaced(a)) })
	for _, o := range all {
		p := o.(*corev1.Pod)
		if p.Status.Phase != corev1.PodPending || len(p.Spec.Volumes) == 0 ||
			p.Spec.Volumes[0].PersistentVolumeClaim == nil {
			continue
		}

		// The end of a claim that a sync has asked for wakes the plugin by itself; a claim's owners wake nobody.
		claim := p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName
		what := "loss of claim "
		if r.One(2) {
			what = "other owners of claim "
			err = c.Change(claims, p.Namespace, claim, func(o runtime.Object) { swapOwners(o, p) })
		} else {
			err = c.Remove(claims, p.Namespace, claim)
		}
		if err != nil {
			continue // it isn't there
		}
		return what + claim, c.Change(differential.Pods, p.Namespace, p.Name,
			func(o runtime.Object) { unscheduled(r, o.(*corev1.Pod)) })
	}
	return "", nil
}

// swapOwners takes a claim's owners away, or where it has none makes its pod's own the claim's.
func swapOwners(o runtime.Object, p *corev1.Pod) {
	claim := o.(*corev1.PersistentVolumeClaim)
	if len(claim.OwnerReferences) > 0 {
		claim.OwnerReferences = nil
		return
	}
	claim.OwnerReferences = slices.Clone(p.OwnerReferences)
}

// unplaced returns 1 for a pod of which the scheduler has said that it has no place: what it says next differs from
// that by its message alone. For others it returns 0.
func unplaced(o runtime.Object) int {
	for _, x := range o.(*corev1.Pod).Status.Conditions {
		if x.Type == corev1.PodScheduled && x.Reason == corev1.PodReasonUnschedulable {
			return 1
		}
	}
	return 0
}

// everyPod is what kubelets do to all pods that it is for.
func everyPod(what string, f func(*world.Rand, *api.Cluster, *corev1.Pod) error) differential.Deed {
	return func(r *world.Rand, c *api.Cluster) (string, error) {
		all, err := c.List(differential.Pods)
		for i := 0; i < len(all) && err == nil; i++ {
			err = f(r, c, all[i].(*corev1.Pod))
		}
		return what, err
	}
}

// deeds are what others do to sets, pods, claims and revisions.
func deeds() []differential.Deed {
	ofSet := func(what string, f func(*world.Rand, *appsv1.StatefulSet)) differential.Deed {
		return differential.Vary(sets, what, func(r *world.Rand, s *appsv1.StatefulSet) {
			f(r, s)
			s.Generation++
		})
	}

	template := ofSet("another template", func(r *world.Rand, s *appsv1.StatefulSet) { edit(r, &s.Spec.Template) })
	well := differential.Vary(differential.Pods, "readiness", func(r *world.Rand, p *corev1.Pod) { healthy(r, p) })
	waits := differential.Vary(differential.Pods, "the scheduler's reason", func(r *world.Rand, p *corev1.Pod) {
		if p.Status.Phase == corev1.PodPending {
			unscheduled(r, p)
		}
	})

	return []differential.Deed{
		template, template, template, well, well, well, waits, waits, lost, lost,
		differential.Vary(differential.Pods, "a change of the life", func(r *world.Rand, p *corev1.Pod) {
			r.Live(p)
			real(r, p)
		}),
		differential.Vary(differential.Pods, "other labels", func(r *world.Rand,
			p *corev1.Pod) {
			p.Labels = r.Labels("web")
		}),
		differential.Vary(differential.Pods, "no owner", func(_ *world.Rand,
			p *corev1.Pod) {
			p.OwnerReferences = nil
		}),
		differential.Vary(differential.Pods, "the scheduler's node", func(r *world.Rand,
			p *corev1.Pod) {
			p.Spec.NodeName = "node-1"
		}),
		differential.Delete(differential.Pods),
		differential.Vanish(differential.Pods),
		differential.Appear(func(r *world.Rand) runtime.Object {
			return r.Pod(fmt.Sprintf("%s-%d", world.Of(r, "web", "web-1", "else"), r.IntN(4)), r.Labels("web"),
				r.PodSpec())
		}),
		ofSet("another size", func(r *world.Rand,
			s *appsv1.StatefulSet) {
			s.Spec.Replicas = world.Ptr(int32(r.IntN(5)))
		}),
		ofSet("other ready seconds", func(r *world.Rand,
			s *appsv1.StatefulSet) {
			s.Spec.MinReadySeconds = int32(world.Of(r, 0, 30, 600))
		}),
		ofSet("another strategy", strategy),
		ofSet("the strategy Recreate", func(_ *world.Rand, s *appsv1.StatefulSet) {
			s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.RecreateStatefulSetStrategyType}
		}),
		everyPod("all pods become ready", func(r *world.Rand, c *api.Cluster, p *corev1.Pod) error {
			return c.Change(differential.Pods, p.Namespace, p.Name, func(o runtime.Object) { healthy(r, o.(*corev1.Pod)) })
		}),
		everyPod("pods on their way out are gone", func(_ *world.Rand, c *api.Cluster, p *corev1.Pod) error {
			if p.DeletionTimestamp == nil {
				return nil
			}
			return c.Remove(differential.Pods, p.Namespace, p.Name)
		}),
		ofSet("another retention of claims", retention),
		ofSet("other ordinals", func(r *world.Rand, s *appsv1.StatefulSet) {
			s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: int32(r.IntN(3))}
		}),
		ofSet("another length of history", func(r *world.Rand,
			s *appsv1.StatefulSet) {
			s.Spec.RevisionHistoryLimit = world.Ptr(int32(r.IntN(3)))
		}),
		differential.Vary(sets, "other annotations", func(r *world.Rand, s *appsv1.StatefulSet) {
			s.Annotations = map[string]string{"example.com/by": world.Of(r, "a", "b", "c")}
		}),
		differential.Vary(sets, "another status", func(r *world.Rand, s *appsv1.StatefulSet) {
			s.Status.ReadyReplicas, s.Status.CurrentReplicas = int32(r.IntN(4)), int32(r.IntN(4))
		}),
		differential.Delete(sets),
		differential.Vanish(sets),
		differential.Appear(func(r *world.Rand) runtime.Object { return set(r, world.Of(r, "web", "web-1")) }),
		differential.Delete(claims),
		differential.Vanish(claims),
		differential.Vary(claims, "other owners", func(r *world.Rand,
			x *corev1.PersistentVolumeClaim) {
			x.OwnerReferences = nil
		}),
		differential.Vanish(revisions),
		differential.Vary(revisions, "no owner", func(_ *world.Rand,
			v *appsv1.ControllerRevision) {
			v.OwnerReferences = nil
		}),
		differential.Appear(func(r *world.Rand) runtime.Object { return limitRange(r) }),
		differential.Vanish(limits),
	}
}
