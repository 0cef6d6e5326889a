package pvcprotection

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/author/guest/guesttest"
	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/plugin"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/pvcprotection"
)

// slow is an API server that takes so long for each request.
type slow time.Duration

func (s slow) Before(*http.Request, string) error { time.Sleep(time.Duration(s)); return nil }
func (slow) After(*http.Request, string) error    { return nil }

// stage has the plugin work by itself, under the host, on a cluster in the present bubble.
type stage struct {
	t       *testing.T
	cluster *api.Cluster
	host    *plugin.Hosted
	late    []api.Change // of pods, that the cache isn't shown yet
	hold    bool         // keeps those back
}

func newStage(t *testing.T, claims []*corev1.PersistentVolumeClaim, pods ...*corev1.Pod) *stage {
	t.Helper()
	server, err := api.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, cluster: server.NewCluster()}
	for _, o := range world.Basics() {
		s.must(s.cluster.Add(o))
	}
	for _, c := range claims {
		s.must(s.cluster.Add(c))
	}
	for _, p := range pods {
		s.must(s.cluster.Add(p))
	}

	g := guesttest.Native(pvcprotection.Plugin)
	s.host, err = plugin.Host(g, []int32{0}, &abi.Settings{Values: []string{"true"}}, s.cluster, nil)
	s.must(err)
	s.show(true)
	s.cluster.Latency = slow(5 * time.Millisecond)
	s.host.Begin()
	return s
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// show shows the caches what has happened, but for what happened to pods where that is kept back.
func (s *stage) show(initial bool) {
	s.t.Helper()
	all, err := s.cluster.Changes()
	s.must(err)
	for i := range all {
		if s.hold && all[i].Resource == differential.Pods {
			s.late = append(s.late, all[i])
			continue
		}
		s.must(s.host.Show(&all[i], initial))
		if !s.hold {
			s.host.Reached(all[i].Version)
		}
	}
}

// pass lets time pass, in which the caches are shown what happens.
func (s *stage) pass(d time.Duration) {
	s.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(max(d/1000, time.Millisecond))
		synctest.Wait()
		s.show(false)
	}
}

// release shows the caches what was kept back.
func (s *stage) release() {
	s.t.Helper()
	s.hold = false
	for i := range s.late {
		s.must(s.host.Show(&s.late[i], false))
		s.host.Reached(s.late[i].Version)
	}
	s.late = nil
}

// lists returns how many lists of pods there were since it was last called.
func (s *stage) lists() (n int) {
	for _, r := range s.cluster.Requests {
		if r.Verb == "list" && r.Resource == differential.Pods {
			n++
		}
	}
	s.cluster.Requests = nil
	return n
}

func (s *stage) claims() map[string]*corev1.PersistentVolumeClaim {
	s.t.Helper()
	all, err := s.cluster.List(claims)
	s.must(err)
	found := map[string]*corev1.PersistentVolumeClaim{}
	for _, o := range all {
		c := o.(*corev1.PersistentVolumeClaim)
		found[c.Name] = c
	}
	return found
}

func (s *stage) delete(name string) {
	s.t.Helper()
	s.must(s.cluster.Delete(claims, world.Namespace, name, &metav1.DeleteOptions{}))
}

// manyClaims are bound ones that say whether they are unused.
func manyClaims(n int, unused corev1.ConditionStatus) (all []*corev1.PersistentVolumeClaim) {
	r := world.NewRand(1).At(time.Now())
	for i := range n {
		c := claim(r, fmt.Sprintf("data-%d", i), nil)
		c.Namespace, c.OwnerReferences, c.DeletionTimestamp, c.DeletionGracePeriodSeconds = world.Namespace, nil, nil, nil
		c.Finalizers = []string{"kubernetes.io/pvc-protection"}
		c.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}
		c.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{
			Type: corev1.PersistentVolumeClaimUnused, Status: unused, LastTransitionTime: metav1.Now(),
		}}
		all = append(all, c)
	}
	return all
}

// user is a pod on a node that names these claims.
func user(name string, claims ...string) *corev1.Pod {
	r := world.NewRand(2).At(time.Now())
	p := r.Pod(name, nil, r.PodSpec())
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds, p.Finalizers = nil, nil, nil
	p.Spec.NodeName, p.Spec.Volumes, p.Status = "node-1", nil, corev1.PodStatus{Phase: corev1.PodRunning}
	for _, c := range claims {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: c, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c},
		}})
	}
	return p
}

const (
	many = 10_000
	// few is how many lists of pods may be made for them.
	few = 10
)

// However many claims of a namespace are deleted at once, a few lists of its pods tell which of them may go.
func TestFewListsForManyDeletions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, manyClaims(many, corev1.ConditionTrue), user("till", "data-7"))
		defer s.host.Close()
		s.pass(time.Second)
		s.lists()

		for i := range many { // one in a millisecond, far faster than the API server lets them go
			s.delete(fmt.Sprintf("data-%d", i))
			s.pass(time.Millisecond)
		}
		s.pass(many * 6 * time.Millisecond)
		left := s.claims()
		if n := s.lists(); len(left) != 1 || left["data-7"] == nil || n > few {
			t.Errorf("%d claims are left after %d lists", len(left), n)
		} else {
			t.Logf("%d lists", n)
		}
	})
}

// Pods that come, change and go cost no list, but where a claim that was in use becomes unused.
func TestListsOnlyWhereClaimsBecomeUnused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, manyClaims(10, corev1.ConditionTrue))
		defer s.host.Close()
		s.pass(time.Second)
		expect := func(what string, status corev1.ConditionStatus, lists int) {
			t.Helper()
			s.pass(time.Second)
			for name, c := range s.claims() {
				if now := c.Status.Conditions[0].Status; now != status {
					t.Errorf("%s: %s says %s, should say %s", what, name, now, status)
				}
			}
			if n := s.lists(); n != lists {
				t.Errorf("%s: %d lists, should be %d", what, n, lists)
			}
		}
		expect("claims that say so are unused", corev1.ConditionTrue, 0)

		var all []string
		for name := range s.claims() {
			all = append(all, name)
		}
		till := user("till", all...)
		s.must(s.cluster.Add(till))
		s.must(s.cluster.Add(user("desk", all...)))
		expect("pods come", corev1.ConditionFalse, 0)
		for _, phase := range []corev1.PodPhase{corev1.PodUnknown, corev1.PodRunning, corev1.PodSucceeded} {
			s.must(s.cluster.Change(differential.Pods, till.Namespace, "till",
				func(o runtime.Object) { o.(*corev1.Pod).Status.Phase = phase }))
			expect("one of two pods is "+string(phase), corev1.ConditionFalse, 0)
		}
		s.must(s.cluster.Remove(differential.Pods, till.Namespace, "desk"))
		expect("the other one is gone", corev1.ConditionTrue, 1)
		s.must(s.cluster.Remove(differential.Pods, till.Namespace, "till"))
		expect("the one that has ended is gone", corev1.ConditionTrue, 0)
	})
}

// A pod that the cache doesn't show yet keeps its claim, and uses it.
func TestPodsThatTheCacheLacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, manyClaims(3, corev1.ConditionFalse), user("till", "data-2"))
		defer s.host.Close()
		s.pass(time.Second)
		if c := s.claims()["data-0"]; c.Status.Conditions[0].Status != corev1.ConditionTrue {
			t.Fatalf("data-0 isn't unused: %v", c.Status.Conditions)
		}

		s.hold = true
		s.must(s.cluster.Add(user("desk", "data-0", "data-1")))
		s.must(s.cluster.Remove(differential.Pods, world.Namespace, "till"))
		s.delete("data-0")
		s.delete("data-2")
		s.must(s.cluster.Change(claims, world.Namespace, "data-1",
			func(o runtime.Object) {
				o.(*corev1.PersistentVolumeClaim).Status.Conditions[0].Status = corev1.ConditionFalse
			}))
		for range 3 {
			s.pass(time.Minute)
			if left := s.claims(); len(left) != 3 || left["data-1"].Status.Conditions[0].Status != corev1.ConditionFalse {
				t.Fatalf("with an old cache %d claims are left, data-1 says %v", len(left), left["data-1"].Status.Conditions)
			}
		}
		if s.lists() == 0 {
			t.Error("nobody has asked the API server")
		}

		s.release()
		s.pass(20 * time.Minute) // it is tried again by its back-off
		if left := s.claims(); len(left) != 2 || left["data-0"] == nil ||
			left["data-1"].Status.Conditions[0].Status != corev1.ConditionFalse {
			t.Errorf("%d claims are left, data-1 says %v", len(left), left["data-1"].Status.Conditions)
		}
		s.must(s.cluster.Remove(differential.Pods, world.Namespace, "desk"))
		s.pass(time.Minute)
		if left := s.claims(); len(left) != 1 || left["data-1"].Status.Conditions[0].Status != corev1.ConditionTrue {
			t.Errorf("%d claims are left, data-1 says %v", len(left), left["data-1"].Status.Conditions)
		}
	})
}
