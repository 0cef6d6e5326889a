package deployment

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/intstr"
	"github.com/windlass-dev/windlass/sdk/resource"
	"github.com/windlass-dev/windlass/test/worlds"
)

// model is a Deployment with its sets, and a clock that goes on with every write.
type model struct {
	t    *testing.T
	rand *rand.Rand
	d    *appsv1.Deployment
	sets []*appsv1.ReplicaSet
	now  int64
	log  []string
}

// Whatever users and pods do in whatever order: no sync of a rolling update makes more pods than wanted and surge, or
// takes available ones that are needed; a sync that has written nothing but the Deployment leaves nothing to be
// written; and when users rest and pods come up, the rollout becomes complete.
func TestRollout(t *testing.T) {
	Plugin.Manifest() // numbers the views
	for seed := range uint64(worlds.Number(150)) {
		m := newModel(t, seed)
		for range 60 {
			if m.rand.IntN(4) == 0 {
				m.changeSpec()
			}
			m.updatePods(m.rand.IntN(3) > 0)
			m.syncUntilIdle()
		}
		m.d.Spec.Paused = false
		m.d.Generation++
		for i := 0; !m.complete(); i++ {
			if i == 200 {
				t.Fatalf("seed %d: not complete:\n%s", seed, m)
			}
			m.updatePods(true)
			m.syncUntilIdle()
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, m)
		}
	}
}

func newModel(t *testing.T, seed uint64) *model {
	m := &model{t: t, rand: rand.New(rand.NewPCG(seed, 1)), d: &appsv1.Deployment{}, now: 1_800_000_000}
	d := m.d
	d.Namespace, d.Name, d.UID, d.Generation = "default", "web", "uid", 1
	d.Spec.Replicas = new(int32)
	*d.Spec.Replicas = m.rand.Int32N(12)
	d.Spec.Template.Labels.Set("app", "web")
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: d.Spec.Template.Labels.Clone()}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:0"}}
	deadline, limit := int32(600), m.rand.Int32N(3)
	d.Spec.ProgressDeadlineSeconds, d.Spec.RevisionHistoryLimit = &deadline, &limit
	m.strategy()
	return m
}

func (m *model) strategy() {
	s := &m.d.Spec.Strategy
	*s = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	if m.rand.IntN(5) > 0 {
		surge, unavailable := m.randomAmount(), m.randomAmount()
		if surge.String() == "0" && unavailable.String() == "0" {
			surge = metav1.IntOrString{IntVal: 1}
		}
		*s = appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &surge, MaxUnavailable: &unavailable}}
	}
}

func (m *model) randomAmount() metav1.IntOrString {
	if m.rand.IntN(2) == 0 {
		return metav1.IntOrString{IntVal: m.rand.Int32N(4)}
	}
	return metav1.IntOrString{Type: 1, StrVal: strconv.Itoa(m.rand.IntN(101)) + "%"}
}

// changeSpec changes something of the spec.
func (m *model) changeSpec() {
	s := &m.d.Spec
	switch m.rand.IntN(8) {
	case 0, 1, 2:
		s.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:" + strconv.Itoa(m.rand.IntN(4))}}
	case 3, 4:
		n := m.rand.Int32N(12)
		s.Replicas = &n
	case 5:
		s.Paused = !s.Paused
	case 6:
		m.strategy()
	case 7:
		m.d.Annotations.Set(appsv1.DeprecatedRollbackTo, strconv.Itoa(m.rand.IntN(3)))
	}
	m.d.Generation++
	m.appendLog("user: %s of %s, %v, paused %v",
		formatInt(*s.Replicas), s.Template.Spec.Containers[0].Image, s.Strategy.Type, s.Paused)
}

// updatePods lets the sets' controller do part of its work: it takes pods that aren't available first.
func (m *model) updatePods(up bool) {
	for _, rs := range m.sets {
		if m.rand.IntN(3) == 0 {
			continue
		}
		s, n := &rs.Status, desiredReplicas(rs)
		s.ObservedGeneration = rs.Generation
		s.Replicas = n
		s.AvailableReplicas = min(s.AvailableReplicas, n)
		if up {
			s.AvailableReplicas += m.rand.Int32N(n - s.AvailableReplicas + 1)
		} else if s.AvailableReplicas > 0 && m.rand.IntN(4) == 0 {
			s.AvailableReplicas--
		}
		s.ReadyReplicas = s.AvailableReplicas
		s.TerminatingReplicas = new(int32)
	}
}

func (m *model) complete() bool {
	s, n := &m.d.Status, orDefault(m.d.Spec.Replicas)
	return s.ObservedGeneration == m.d.Generation && s.UpdatedReplicas == n && s.Replicas == n && s.AvailableReplicas == n
}

// syncUntilIdle runs syncs until one writes no set, as their echoes would have it.
func (m *model) syncUntilIdle() {
	for range 50 {
		before, spared, resized := totalDesired(m.sets), m.keptAvailable(), m.resized()
		sets, deployment := m.syncOnce()
		most, needed := m.podBounds()
		if m.d.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
			if n := totalDesired(m.sets); n > before && n > most {
				m.t.Errorf("%d pods where %d are allowed", n, most)
			}
			if n := m.keptAvailable(); !resized && !m.d.Spec.Paused && n < spared && n < needed {
				m.t.Errorf("%d available pods left where %d are needed", n, needed)
			}
		}
		if sets {
			continue
		}
		if deployment {
			if sets, deployment = m.syncOnce(); sets || deployment {
				m.t.Errorf("a write of the Deployment alone makes another one necessary")
			}
		}
		return
	}
	m.t.Fatalf("no end:\n%s", m)
}

// keptAvailable returns the number of available pods that no set is about to lose.
func (m *model) keptAvailable() (n int32) {
	for _, rs := range m.sets {
		n += min(desiredReplicas(rs), rs.Status.AvailableReplicas)
	}
	return n
}

func (m *model) resized() bool {
	return slices.ContainsFunc(activeSets(m.sets), func(rs *appsv1.ReplicaSet) bool {
		return rs.Annotations.Get(desiredAnnotation) != formatInt(orDefault(m.d.Spec.Replicas))
	})
}

func (m *model) podBounds() (most, needed int32) {
	n, u := orDefault(m.d.Spec.Replicas), m.d.Spec.Strategy.RollingUpdate
	if u == nil {
		return n, 0
	}
	surge, _ := intstr.Scaled(u.MaxSurge, n, true)
	unavailable, _ := intstr.Scaled(u.MaxUnavailable, n, false)
	if surge == 0 {
		unavailable = max(1, unavailable)
	}
	return n + surge, n - unavailable
}

// syncOnce runs one sync and does what it says. It tells whether that wrote sets, and whether it wrote the Deployment.
func (m *model) syncOnce() (sets, deployment bool) {
	m.now++
	r := &abi.SyncRequest{Key: abi.KeyRef{Namespace: "default", Name: "web"}, Now: m.now * 1e9,
		Views: make([]abi.ViewData, 3)}
	r.Views[0].Objects = []abi.ObjectData{{Data: resource.Append(nil, m.d), ResourceVersion: "1"}}
	slices.SortFunc(m.sets, compareByName)
	for _, rs := range m.sets {
		r.Views[1].Objects = append(r.Views[1].Objects, abi.ObjectData{Data: resource.Append(nil, rs), ResourceVersion: "1"})
	}

	do := func(e *abi.Effect) abi.Outcome {
		switch e.Kind {
		case abi.EffectView:
			return abi.Outcome{View: &abi.ViewData{}} // pods end with their set's count of them
		case abi.EffectEvent:
			m.appendLog("event: %s", e.Event.Message)
			return abi.Outcome{}
		}
		s := e.Resource == "apps/v1/replicasets"
		sets, deployment = sets || s, deployment || !s
		return m.applyEffect(e)
	}

	a := sdk.Run(Plugin, r, nil, func(p *abi.PerformRequest) (*abi.PerformResponse, error) {
		a := &abi.PerformResponse{}
		for i := range p.Effects {
			a.Outcomes = append(a.Outcomes, do(&p.Effects[i]))
		}
		return a, nil
	})
	if a.Error != "" {
		m.t.Errorf("sync: %s", a.Error)
	}
	for i := range a.Effects {
		do(&a.Effects[i])
	}
	if m.d.Status.ObservedGeneration < m.d.Generation && a.RequeueAfter == 0 && !sets {
		m.t.Errorf("the status lags and nothing is going to change that")
	}

	// A rollback wakes its key itself.
	return sets || a.RequeueAfter == 1, deployment && a.RequeueAfter != 1
}

func (m *model) applyEffect(e *abi.Effect) abi.Outcome {
	if e.Resource == "apps/v1/deployments" {
		d := &appsv1.Deployment{}
		if err := resource.Decode(e.Object, d); err != nil {
			m.t.Fatal(err)
		}
		if e.Subresource == "" {
			d.Status = m.d.Status
			d.Generation++
		} else {
			d.Spec = m.d.Spec
		}
		m.d = d
		return abi.Outcome{Object: abi.ObjectData{Data: e.Object, ResourceVersion: "2"}}
	}

	i := slices.IndexFunc(m.sets, func(rs *appsv1.ReplicaSet) bool { return rs.Name == e.Name })
	if e.Kind == abi.EffectDelete {
		if rs := m.sets[i]; desiredReplicas(rs) != 0 || rs.Status.Replicas != 0 {
			m.t.Errorf("%s is deleted with pods", rs.Name)
		}
		m.sets = slices.Delete(m.sets, i, i+1)
		return abi.Outcome{}
	}

	rs := &appsv1.ReplicaSet{}
	if err := resource.Decode(e.Object, rs); err != nil {
		m.t.Fatal(err)
	}

	if e.Kind == abi.EffectCreate {
		if i >= 0 {
			m.t.Fatalf("%s is there already", rs.Name)
		}
		rs.UID, rs.CreationTimestamp = "uid-"+metav1.UID(rs.Name), metav1.Unix(m.now, 0)
		m.sets = append(m.sets, rs)
	} else {
		rs.Status = m.sets[i].Status
		m.sets[i] = rs
	}

	rs.Generation++
	return abi.Outcome{Object: abi.ObjectData{Data: resource.Append(nil, rs), ResourceVersion: "2"}}
}

func compareByName(a, b *appsv1.ReplicaSet) int {
	return slices.Compare([]byte(a.Name), []byte(b.Name))
}

func (m *model) appendLog(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf(format, args...))
}

func (m *model) String() string {
	text := ""
	for _, l := range m.log {
		text += l + "\n"
	}
	for _, rs := range m.sets {
		text += fmt.Sprintf("%s: %d, status %d, available %d, %v\n",
			rs.Name, desiredReplicas(rs), rs.Status.Replicas, rs.Status.AvailableReplicas, rs.Annotations)
	}
	return text + fmt.Sprintf("%+v", m.d.Status)
}
