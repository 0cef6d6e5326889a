package daemonset

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	defaults "k8s.io/kubernetes/pkg/apis/apps/v1"
	"k8s.io/kubernetes/pkg/features"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/world"
)

// objects are some nodes, one or two DaemonSets, revisions and pods of theirs on these nodes and on others, and pods
// and revisions that could be theirs or aren't.
func objects(r *world.Rand) (all []runtime.Object) {
	for i := range 1 + r.IntN(4) {
		all = append(all, node(r, fmt.Sprintf("node-%d", i)))
	}
	for i := range 1 + r.IntN(2) {
		s := set(r, fmt.Sprintf("agent-%d", i))
		all = append(all, s)
		for j := range r.IntN(3) {
			all = append(all, revision(r, s, j))
		}
		for j := range r.IntN(6) {
			all = append(all, pod(r, fmt.Sprintf("%s-%d", s.Name, j), s))
		}
	}
	return all
}

func node(r *world.Rand, name string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: r.UID(), CreationTimestamp: r.Ago(9000)}}
	label(r, n)
	taint(r, n)
	return n
}

func label(r *world.Rand, n *corev1.Node) {
	n.Labels = map[string]string{"kubernetes.io/hostname": n.Name}
	if r.One(2) {
		n.Labels["disk"] = world.Of(r, "ssd", "hdd")
	}
	if r.One(6) {
		n.Labels["count"] = world.Of(r, "1", "5", "x")
	}
}

func taint(r *world.Rand, n *corev1.Node) {
	n.Spec.Taints = nil
	for r.One(4) {
		if compared() && r.One(2) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{
				Key: "spot", Value: world.Of(r, "4", "5", "6", "-5", "05", "x"),
				Effect: world.Of(r, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute),
			})
			continue
		}
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{
			Key: world.Of(r, "spot", "spot", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable",
				"node.kubernetes.io/unschedulable",
				"node.kubernetes.io/network-unavailable", "node.kubernetes.io/disk-pressure"),
			Value:  world.Of(r, "", "a", "5"),
			Effect: world.Of(r, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule),
		})
	}
}

func set(r *world.Rand, name string) *appsv1.DaemonSet {
	app := world.Of(r, "web", "db")
	s := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: world.Namespace, UID: r.UID(), Labels: r.Labels("web"), CreationTimestamp: r.Ago(3000),
		Generation: int64(1 + r.IntN(3)),
	}}

	s.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	if r.One(10) {
		s.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web", "db"}},
		}}
	}

	s.Spec.Template = r.Template(map[string]string{"app": app})
	if !r.One(3) {
		s.Spec.Template.Finalizers = nil
	}

	place(r, &s.Spec.Template.Spec)
	strategy(r, s)
	s.Spec.MinReadySeconds = int32(world.Of(r, 0, 0, 0, 30, 600))
	s.Spec.RevisionHistoryLimit = world.Of(r, nil, nil, world.Ptr[int32](0), world.Ptr[int32](1))
	if r.One(3) {
		s.Annotations = map[string]string{appsv1.DeprecatedTemplateGeneration: world.Of(r, "1", "2")}
	}
	if r.One(8) {
		s.Finalizers = []string{"example.com/stay"}
	}

	status(r, s)
	if r.One(12) {
		r.End(s)
	}
	defaults.SetObjectDefaults_DaemonSet(s) // a revision is of the template as the server has it
	return s
}

// compared reports whether a server admits tolerations that compare numbers.
func compared() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.TaintTolerationComparisonOperators)
}

// place says on which nodes a template's pods may be.
func place(r *world.Rand, s *corev1.PodSpec) {
	s.SchedulingGates = nil
	if r.One(3) {
		s.HostNetwork = r.One(3)
		s.Tolerations = append(s.Tolerations, corev1.Toleration{
			Key: world.Of(r, "spot", ""), Operator: corev1.TolerationOpExists,
			Effect: world.Of(r, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, ""),
		})
	}

	if r.One(8) {
		s.Tolerations = append(s.Tolerations, corev1.Toleration{Key: "spot", Operator: corev1.TolerationOpEqual,
			Value: world.Of(r, "a", "")})
	}

	if compared() && r.One(2) {
		s.Tolerations = append(s.Tolerations, corev1.Toleration{
			Key: "spot", Operator: world.Of(r, corev1.TolerationOpGt, corev1.TolerationOpLt), Value: world.Of(r, "5", "4", "-5"),
		})
	}

	if r.One(15) {
		s.NodeName = world.Of(r, "node-0", "node-9")
	}
	if !r.One(5) {
		return
	}

	s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}
	term := corev1.NodeSelectorTerm{}
	if !r.One(4) {
		x := corev1.NodeSelectorRequirement{Key: world.Of(r, "disk", "count"),
			Operator: world.Of(r, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn,
				corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt)}
		switch x.Operator {
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
			x.Values = []string{"ssd", "1"}
		case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
			x.Values = []string{"3"}
		}
		term.MatchExpressions = append(term.MatchExpressions, x)
	}

	if r.One(4) {
		term.MatchFields = append(term.MatchFields, corev1.NodeSelectorRequirement{
			Key: "metadata.name", Operator: world.Of(r, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn),
			Values: []string{"node-1"},
		})
	}

	s.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{term},
	}
	if r.One(3) {
		s.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.PreferredSchedulingTerm{{Weight: 1,
			Preference: corev1.NodeSelectorTerm{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpExists}},
			}}}
	}
}

func strategy(r *world.Rand, s *appsv1.DaemonSet) {
	if r.One(2) {
		s.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
		return
	}
	u := &appsv1.RollingUpdateDaemonSet{MaxSurge: world.Ptr(intstr.FromInt32(0)),
		MaxUnavailable: world.Ptr(intstr.FromInt32(1))}
	n := world.Of(r, intstr.FromInt32(1), intstr.FromInt32(1), intstr.FromInt32(2), intstr.FromString("30%"),
		intstr.FromString("100%"))
	if r.One(3) {
		u.MaxSurge, u.MaxUnavailable = &n, world.Ptr(intstr.FromInt32(0))
	} else {
		u.MaxUnavailable = &n
	}
	s.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType,
		RollingUpdate: u}
}

func status(r *world.Rand, s *appsv1.DaemonSet) {
	n := func() int32 { return int32(r.IntN(4)) }
	collisions := s.Status.CollisionCount
	s.Status = appsv1.DaemonSetStatus{
		CurrentNumberScheduled: n(), NumberMisscheduled: n(), DesiredNumberScheduled: n(), NumberReady: n(),
		UpdatedNumberScheduled: n(),
		NumberAvailable:        n(), NumberUnavailable: n(), ObservedGeneration: int64(r.IntN(int(s.Generation) + 1)),
		CollisionCount: collisions,
	}
	if r.One(10) && collisions == nil {
		s.Status.CollisionCount = world.Ptr(n())
	}
}

// revision returns a revision of a DaemonSet's: of its template as it was given, of a former one, or of something else.
func revision(r *world.Rand, s *appsv1.DaemonSet, i int) *appsv1.ControllerRevision {
	t := s.Spec.Template.DeepCopy()
	if !r.One(3) {
		t.Spec.Containers[0].Image = world.Of(r, "web:0", "web:9")
	}
	data := patch(t)
	hash := fmt.Sprintf("h%d", i)
	v := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
		Name: s.Name + "-" + hash, Namespace: world.Namespace, UID: r.UID(), CreationTimestamp: r.Ago(3000),
		Labels: map[string]string{"app": s.Spec.Template.Labels["app"]},
	}, Data: runtime.RawExtension{Raw: data}, Revision: int64(1 + r.IntN(4))}
	if !r.One(4) {
		v.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = hash
	}
	switch {
	case !r.One(5):
		v.OwnerReferences = []metav1.OwnerReference{world.Owner("apps/v1", "DaemonSet", s.Name, s.UID)}
	case r.One(3):
		v.OwnerReferences = []metav1.OwnerReference{world.Owner("apps/v1", "StatefulSet", s.Name, r.UID())}
	}
	if r.One(10) {
		r.End(v)
	}
	return v
}

// patch is what a revision keeps of a template.
func patch(t *corev1.PodTemplateSpec) []byte {
	b, err := json.Marshal(t)
	m := map[string]any{}
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	m["$patch"] = "replace"
	if err == nil {
		b, err = json.Marshal(map[string]any{"spec": map[string]any{"template": m}})
	}
	if err != nil {
		panic(err) // a template has a form in JSON
	}
	return b
}

func pod(r *world.Rand, name string, s *appsv1.DaemonSet) *corev1.Pod {
	labels := maps.Clone(s.Spec.Template.Labels)
	if !r.One(4) {
		labels[appsv1.DefaultDaemonSetUniqueLabelKey] = world.Of(r, "h0", "h0", "h1", "h2", "h9")
	}
	if r.One(4) {
		labels["pod-template-generation"] = world.Of(r, "1", "2")
	}
	p := r.Pod(name, labels, s.Spec.Template.Spec)
	p.Spec.NodeName = fmt.Sprintf("node-%d", r.IntN(4))
	if r.One(4) { // not bound yet
		pin(p, p.Spec.NodeName)
		p.Spec.NodeName, p.Status = "", corev1.PodStatus{Phase: corev1.PodPending}
		if !r.One(5) {
			p.Finalizers, p.DeletionTimestamp, p.DeletionGracePeriodSeconds = nil, nil, nil
		}
	}
	switch {
	case !r.One(5):
		p.OwnerReferences = []metav1.OwnerReference{world.Owner("apps/v1", "DaemonSet", s.Name, s.UID)}
	case r.One(3):
		p.OwnerReferences = []metav1.OwnerReference{world.Owner("apps/v1", "DaemonSet", s.Name, r.UID())}
	case r.One(3):
		p.Labels = r.Labels("web")
	}
	return p
}

// pin has a pod be meant for a node.
func pin(p *corev1.Pod, node string) {
	required := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{
			{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
		},
	}}}
	p.Spec.Affinity = &corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required},
	}
}

// bind puts a pod on the node that it is meant for.
func bind(p *corev1.Pod) {
	if p.Spec.NodeName != "" || p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil ||
		p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return
	}
	for _, t := range p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, f := range t.MatchFields {
			if f.Operator == corev1.NodeSelectorOpIn {
				p.Spec.NodeName = f.Values[0]
			}
		}
	}
}

// each changes all objects of a resource in the same way.
func each[T runtime.Object](c *api.Cluster, of func(T) metav1.Object, f func(T)) error {
	var zero T
	gvr := differential.Pods
	switch any(zero).(type) {
	case *appsv1.DaemonSet:
		gvr = sets
	}
	all, err := c.List(gvr)
	for _, o := range all {
		m := of(o.(T))
		if err == nil {
			err = c.Change(gvr, m.GetNamespace(), m.GetName(), func(o runtime.Object) { f(o.(T)) })
		}
	}
	return err
}

// pods is what kubelets or the scheduler do to all pods that it is for.
func pods(what string, f func(*world.Rand, *corev1.Pod)) differential.Deed {
	return func(r *world.Rand, c *api.Cluster) (string, error) {
		return what, each(c, func(p *corev1.Pod) metav1.Object { return p }, func(p *corev1.Pod) { f(r, p) })
	}
}

func deeds() []differential.Deed {
	return append(append(podDeeds(), setDeeds()...),
		func(r *world.Rand, _ *api.Cluster) (string, error) {
			n := world.Of(r, 500, 1000, 1500, 3000, 20000)
			time.Sleep(time.Duration(n) * time.Millisecond)
			return fmt.Sprintf("%d ms pass", n), nil
		},
		differential.Vary(nodes, "other labels", func(r *world.Rand, n *corev1.Node) { label(r, n) }),
		differential.Vary(nodes, "other taints", func(r *world.Rand, n *corev1.Node) { taint(r, n) }),
		differential.Appear(func(r *world.Rand) runtime.Object { return node(r, fmt.Sprintf("node-%d", r.IntN(5))) }),
		differential.Vary(nodes, "a heartbeat", func(r *world.Rand, n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue,
				LastHeartbeatTime: r.Ago(1)}}
		}),
		differential.Vanish(nodes),
		differential.Vary(revisions, "another number", func(r *world.Rand,
			v *appsv1.ControllerRevision) {
			v.Revision = int64(1 + r.IntN(5))
		}),
		differential.Vary(revisions, "other labels", func(r *world.Rand,
			v *appsv1.ControllerRevision) {
			v.Labels = r.Labels("web")
		}),
		differential.Vary(revisions, "no owner", func(r *world.Rand,
			v *appsv1.ControllerRevision) {
			v.OwnerReferences = nil
		}),
		differential.Delete(revisions),
		differential.Vanish(revisions),
	)
}

func podDeeds() []differential.Deed {
	run := pods("pods are bound and run", func(r *world.Rand, p *corev1.Pod) {
		if bind(p); p.Spec.NodeName == "" || p.Status.Phase == corev1.PodRunning {
			return
		}
		at := metav1.NewTime(time.Now().UTC().Truncate(time.Second))
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: at},
		}}
	})

	fail := pods("kubelets refuse pods", func(r *world.Rand, p *corev1.Pod) {
		if bind(p); !r.One(4) {
			p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "OutOfcpu"}
		}
	})

	return []differential.Deed{
		run, run, fail, fail, fail,
		differential.Vary(differential.Pods, "a change of the life", func(r *world.Rand, p *corev1.Pod) { r.Live(p) }),
		differential.Vary(differential.Pods, "what the scheduler says", func(r *world.Rand, p *corev1.Pod) {
			if p.Spec.NodeName == "" {
				p.Status.Conditions = []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
					Message: fmt.Sprintf("0/%d nodes are available", r.IntN(5)),
				}}
			}
		}),
		differential.Vary(differential.Pods, "other labels", func(r *world.Rand,
			p *corev1.Pod) {
			p.Labels = r.Labels("web")
		}),
		differential.Vary(differential.Pods, "an annotation", func(r *world.Rand, p *corev1.Pod) {
			p.Annotations = map[string]string{"example.com/note": fmt.Sprint(r.IntN(100))}
		}),
		differential.Vary(differential.Pods, "no owner", func(r *world.Rand, p *corev1.Pod) { p.OwnerReferences = nil }),
		differential.Delete(differential.Pods),
		differential.Vanish(differential.Pods),
	}
}

func setDeeds() []differential.Deed {
	vary := func(what string, f func(*world.Rand, *appsv1.DaemonSet)) differential.Deed {
		return differential.Vary(sets, what, func(r *world.Rand, s *appsv1.DaemonSet) {
			f(r, s)
			s.Generation++
		})
	}

	mend := vary("another image", func(r *world.Rand, s *appsv1.DaemonSet) {
		s.Spec.Template.Spec.Containers[0].Image = world.Of(r, "web:0", "web:1", "web:2", "web:9")
	})
	return []differential.Deed{
		mend, mend, mend,
		vary("another strategy", func(r *world.Rand, s *appsv1.DaemonSet) { strategy(r, s) }),
		vary("other ready seconds", func(r *world.Rand, s *appsv1.DaemonSet) {
			s.Spec.MinReadySeconds = int32(world.Of(r, 0,
				30, 600))
		}),
		vary("another history limit",
			func(r *world.Rand, s *appsv1.DaemonSet) { s.Spec.RevisionHistoryLimit = world.Ptr(int32(r.IntN(3))) }),
		vary("other tolerations", func(r *world.Rand, s *appsv1.DaemonSet) {
			x := corev1.Toleration{Key: "spot", Operator: corev1.TolerationOpEqual, Value: world.Of(r, "", "a", "5")}
			if x.Value == "5" && compared() { // else no server admits their pods
				x.Operator = world.Of(r, corev1.TolerationOpGt, corev1.TolerationOpLt)
			}
			s.Spec.Template.Spec.Tolerations = []corev1.Toleration{x}
		}),
		vary("other nodes", func(r *world.Rand, s *appsv1.DaemonSet) {
			s.Spec.Template.Spec.NodeSelector = world.Of(r, nil, map[string]string{"disk": "ssd"},
				map[string]string{"disk": "hdd"})
		}),
		differential.Vary(sets, "other labels", func(r *world.Rand, s *appsv1.DaemonSet) { s.Labels = r.Labels("web") }),
		differential.Vary(sets, "another status", func(r *world.Rand, s *appsv1.DaemonSet) { status(r, s) }),
		differential.Delete(sets),
		differential.Vanish(sets),
	}
}
