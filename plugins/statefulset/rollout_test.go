package statefulset

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
	"github.com/windlass-dev/windlass/test/worlds"
)

// brokenImage is that of pods that never become ready.
const brokenImage = "broken"

// model is a set in an API server that does what syncs say, while its pods start and end when they like.
type model struct {
	t         *testing.T
	set       *appsv1.StatefulSet
	pods      []*corev1.Pod
	revisions []*appsv1.ControllerRevision
	log       []string
	settled   bool // all pods were available since the size last changed: from here on only roll-outs take some away
}

// newSet returns a set of so many pods with this image, whose strategy is RollingUpdate and says no more.
func newSet(replicas int32, image string) *appsv1.StatefulSet {
	limit := int32(2)
	s := &appsv1.StatefulSet{}
	s.Namespace, s.Name, s.UID, s.Generation = "default", "web", "u1", 1
	s.Spec.Replicas, s.Spec.RevisionHistoryLimit = &replicas, &limit
	s.Spec.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
	s.Spec.Selector = &metav1.LabelSelector{}
	s.Spec.Selector.MatchLabels.Set("app", "web")
	s.Spec.Template.Labels.Set("app", "web")
	s.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: image}}
	return s
}

// Whatever happens to a set, it comes to rest with the pods that it should have; on the way an ordered set makes no pod
// before those below it are ready, and no roll-out makes more pods unavailable than it may.
func TestRolloutsComeToRest(t *testing.T) {
	Plugin.Manifest()
	for seed := range uint64(worlds.Number(150)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			n, partition, most := int32(random.IntN(6)), int32(0), metav1.IntOrString{IntVal: int32(1 + random.IntN(3))}
			s := newSet(n, "web:0")
			s.Spec.PodManagementPolicy = []appsv1.PodManagementPolicyType{appsv1.OrderedReadyPodManagement,
				appsv1.ParallelPodManagement}[random.IntN(2)]
			s.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition,
				MaxUnavailable: &most}
			m := &model{t: t, set: s}
			m.runUntilIdle(random)
			for range 4 {
				s := m.set
				s.Generation++
				switch random.IntN(4) {
				case 0:
					n := int32(random.IntN(6))
					s.Spec.Replicas, m.settled = &n, false
				case 1:
					p := int32(random.IntN(4))
					s.Spec.UpdateStrategy.RollingUpdate.Partition = &p
				default:
					s.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: fmt.Sprintf("web:%d", random.IntN(3))}}
				}
				m.appendLog("replicas %d partition %d %s", *s.Spec.Replicas, *s.Spec.UpdateStrategy.RollingUpdate.Partition,
					s.Spec.Template.Spec.Containers[0].Image)
				for range random.IntN(10) { // and perhaps the next change comes midway
					m.stepRandomly(random)
				}
				if random.IntN(2) == 0 {
					m.runUntilIdle(random)
				}
			}

			m.runUntilIdle(random)
			m.checkSettled()
			if t.Failed() {
				t.Log(strings.Join(m.log, "\n"))
			}
		})
	}
}

// Under Parallel a pod that can't start is replaced by one of the new template, also below pods of the old one that
// run. Without the strategy's rollingUpdate (the API server adds none where the type is given) pods with low ordinals
// are of the old one at first; here such a pod would be deleted at once and made again, for ever.
func TestBrokenPodIsReplaced(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	s := newSet(2, brokenImage)
	s.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	m := &model{t: t, set: s}
	m.runUntilIdle(random)
	makeReady(m.pods[1])

	s.Generation++
	s.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1"}}
	m.runUntilIdle(random)
	for _, p := range m.pods {
		if image := p.Spec.Containers[0].Image; image != "web:1" {
			t.Errorf("%s has the image %s", p.Name, image)
		}
	}
	if s := m.set.Status; s.AvailableReplicas != 2 || s.UpdatedReplicas != 2 || s.CurrentRevision != s.UpdateRevision {
		t.Errorf("the roll-out has ended with the status %+v", s)
	}
}

func makeReady(p *corev1.Pod) {
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
		LastTransitionTime: metav1.Unix(1, 0)}}
}

func (m *model) appendLog(format string, a ...any) { m.log = append(m.log, fmt.Sprintf(format, a...)) }

// stepRandomly runs a sync, or lets something happen to a pod.
func (m *model) stepRandomly(random *rand.Rand) (idle bool) {
	if len(m.pods) > 0 && random.IntN(2) == 0 {
		i := random.IntN(len(m.pods))
		m.advancePod(i)
		return false
	}
	return !m.syncOnce()
}

// advancePod lets a pod get on: it becomes ready, or goes if it is to.
func (m *model) advancePod(i int) (moved bool) {
	switch p := m.pods[i]; {
	case p.DeletionTimestamp != nil:
		m.appendLog("gone %s", p.Name)
		m.pods = slices.Delete(m.pods, i, i+1)
	case p.Status.Phase == corev1.PodPending && p.Spec.Containers[0].Image != brokenImage:
		makeReady(p)
	default:
		return false
	}
	m.settled = m.settled || m.available() == int(*m.set.Spec.Replicas)
	return true
}

// runUntilIdle lets everything happen until nothing does.
func (m *model) runUntilIdle(random *rand.Rand) {
	for range worlds.Number(500) {
		if !m.stepRandomly(random) {
			continue
		}
		moved := false
		for i := len(m.pods) - 1; i >= 0 && !moved; i-- {
			moved = m.advancePod(i)
		}
		if !moved && !m.syncOnce() {
			return
		}
	}
	m.t.Fatalf("no end:\n%s", strings.Join(m.log, "\n"))
}

// checkSettled looks at a set that is at rest.
func (m *model) checkSettled() {
	n, partition := int(*m.set.Spec.Replicas), int64(*m.set.Spec.UpdateStrategy.RollingUpdate.Partition)
	if len(m.pods) != n || m.available() != n {
		m.t.Errorf("%d pods, %d available, want %d", len(m.pods), m.available(), n)
	}
	for _, p := range m.pods {
		if ordinal(p) >= partition && p.Spec.Containers[0].Image != m.set.Spec.Template.Spec.Containers[0].Image {
			m.t.Errorf("%s has not been updated", p.Name)
		}
		if !slices.ContainsFunc(m.revisions, func(v *appsv1.ControllerRevision) bool { return v.Name == revision(p) }) {
			m.t.Errorf("%s: its revision %s was deleted", p.Name, revision(p))
		}
	}
	if s := m.set.Status; int(s.Replicas) != n || int(s.AvailableReplicas) != n ||
		s.ObservedGeneration != m.set.Generation {
		m.t.Errorf("status %+v", s)
	}
}

func (m *model) available() (n int) {
	for _, p := range m.pods {
		if p.DeletionTimestamp == nil && isRunningAndReady(p) {
			n++
		}
	}
	return n
}

// syncOnce runs one sync and does what it says. It tells whether anything was written.
func (m *model) syncOnce() (wrote bool) {
	r := &abi.SyncRequest{Key: abi.KeyRef{Namespace: "default", Name: "web"}, Now: 1e18, Views: make([]abi.ViewData, 4)}
	put := func(view int, o sdk.Object) {
		r.Views[view].Objects = append(r.Views[view].Objects,
			abi.ObjectData{Data: resource.Append(nil, o), ResourceVersion: "1"})
	}

	put(0, m.set)
	slices.SortFunc(m.pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	for _, p := range m.pods {
		put(1, p)
	}

	for _, v := range m.revisions {
		put(2, v)
	}
	var do func(effects []abi.Effect) []abi.Outcome
	do = func(effects []abi.Effect) (l []abi.Outcome) {
		for i := range effects {
			e := &effects[i]
			switch e.Kind {
			case abi.EffectGroup:
				l = append(l, abi.Outcome{Members: do(e.Members)})
				continue
			case abi.EffectEvent:
			default:
				wrote = true
				m.applyEffect(e)
			}
			l = append(l, abi.Outcome{Object: abi.ObjectData{Data: e.Object, ResourceVersion: "2"}})
		}
		return l
	}

	a := sdk.Run(Plugin, r, nil, func(p *abi.PerformRequest) (*abi.PerformResponse, error) {
		return &abi.PerformResponse{Outcomes: do(p.Effects)}, nil
	})
	if a.Error != "" {
		m.t.Errorf("sync: %s", a.Error)
	}
	do(a.Effects)
	return wrote
}

func (m *model) applyEffect(e *abi.Effect) {
	decode := func(o sdk.Object) {
		if err := resource.Decode(slices.Clone(e.Object), o); err != nil {
			m.t.Fatal(err)
		}
	}

	byName := func(v *appsv1.ControllerRevision) bool { return v.Name == e.Name }
	switch what := fmt.Sprint(e.Kind, " ", e.Resource); what {
	case fmt.Sprint(abi.EffectCreate, " v1/pods"):
		p := &corev1.Pod{}
		decode(p)
		m.appendLog("create %s %s", p.Name, p.Spec.Containers[0].Image)
		for _, q := range m.pods {
			if q.Name == p.Name {
				m.t.Errorf("%s is there already", p.Name)
			}
		}
		lower := 0
		for _, q := range m.pods {
			if ordinal(q) < ordinal(p) && isRunningAndReady(q) && q.DeletionTimestamp == nil {
				lower++
			}
		}
		if m.set.Spec.PodManagementPolicy == appsv1.OrderedReadyPodManagement && int64(lower) != ordinal(p) {
			m.t.Errorf("%s is created while only %d below it are ready", p.Name, lower)
		}
		p.UID, p.Status.Phase = metav1.UID(fmt.Sprint("uid-", len(m.log))), corev1.PodPending
		m.pods = append(m.pods, p)
	case fmt.Sprint(abi.EffectDelete, " v1/pods"):
		m.appendLog("delete %s", e.Name)
		i := slices.IndexFunc(m.pods, func(p *corev1.Pod) bool { return p.Name == e.Name })
		if m.pods[i].DeletionTimestamp != nil {
			m.t.Errorf("%s is deleted twice", e.Name)
		}
		was := m.available()
		now := metav1.Unix(2, 0)
		m.pods[i].DeletionTimestamp = &now
		n, most := int(*m.set.Spec.Replicas), 1
		if u := m.set.Spec.UpdateStrategy.RollingUpdate; u != nil {
			most = int(u.MaxUnavailable.IntVal)
		}
		if left := m.available(); m.settled && left < was && left < n-most {
			m.t.Errorf("%d of %d are available, %d may be missing", left, n, most)
		}
	case fmt.Sprint(abi.EffectCreate, " apps/v1/controllerrevisions"):
		v := &appsv1.ControllerRevision{}
		decode(v)
		m.revisions = append(m.revisions, v)
	case fmt.Sprint(abi.EffectUpdate, " apps/v1/controllerrevisions"):
		v := &appsv1.ControllerRevision{}
		decode(v)
		m.revisions[slices.IndexFunc(m.revisions, byName)] = v
	case fmt.Sprint(abi.EffectDelete, " apps/v1/controllerrevisions"):
		m.revisions = slices.DeleteFunc(m.revisions, byName)
	case fmt.Sprint(abi.EffectUpdate, " apps/v1/statefulsets"):
		s := &appsv1.StatefulSet{}
		decode(s)
		m.set.Status = s.Status
	default:
		m.t.Fatalf("unexpected write: %s %s", what, e.Name)
	}
}
