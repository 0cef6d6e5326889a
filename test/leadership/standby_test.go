package leadership

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/state"
	"github.com/windlass-dev/windlass/test/faults"
	"github.com/windlass-dev/windlass/test/ledger"
	"github.com/windlass-dev/windlass/test/windlass"
)

// electing are the options of a manager in this process.
func electing(standby string, wrap func(*rest.Config), controllers ...string) windlass.Options {
	return windlass.Options{Controllers: controllers, Wrap: wrap, Configure: func(k *config.Configuration) {
		k.LeaderElection.LeaderElect, k.LeaderElection.Standby = true, standby
		k.LeaderElection.LeaseDuration.Duration, k.LeaderElection.RenewDeadline.Duration,
			k.LeaderElection.RetryPeriod.Duration = duration, deadline, retry
	}}
}

// seen takes note of which requests a manager has sent.
type seen struct {
	mu  sync.Mutex
	all []string
}

func (s *seen) wrap(c *rest.Config) {
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return trip(func(r *http.Request) (*http.Response, error) {
			s.mu.Lock()
			s.all = append(s.all, r.Method+" "+r.URL.Path)
			s.mu.Unlock()
			return next.RoundTrip(r)
		})
	})
}

// requestsWithout returns the requests that have none of the parts.
func (s *seen) requestsWithout(parts ...string) (rest []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
next:
	for _, r := range s.all {
		for _, p := range parts {
			if strings.Contains(r, p) {
				continue next
			}
		}
		rest = append(rest, r)
	}
	return rest
}

type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// away are the requests of a process that aren't those of its controllers.
var away = []string{"/leases", "/healthz", "/extension-apiserver-authentication", "/tokenreviews",
	"/subjectaccessreviews"}

// leaderStatus returns how a manager sees the main Lease.
func leaderStatus(t *testing.T, m *windlass.Manager) state.LeaderStatus {
	t.Helper()
	all := m.Status(t).Leaders
	if len(all) != 1 || all[0].Group != "main" || all[0].Lease != leaseNamespace+"/"+mainLease {
		t.Fatalf("leaders: %+v", all)
	}
	return all[0]
}

// A standby has caches if it is told to, and nothing but the Lease if it isn't; who leads and who waits can be seen.
func TestStandby(t *testing.T) {
	t.Parallel()
	w := beginWorld(t)
	leader := windlass.Start(t, w.Cluster, electing("cold", nil, "serviceaccount-controller"))
	w.prepareNamespace(t)
	us := leaderStatus(t, leader)
	if !us.Here || us.Holder == "" || us.Since == nil || len(us.Controllers) != 1 {
		t.Errorf("the leader says %+v", us)
	}

	var cold, warm seen
	standbys := map[string]*windlass.Manager{
		"cold": windlass.Start(t, w.Cluster, electing("cold", cold.wrap, "serviceaccount-controller")),
		"warm": windlass.Start(t, w.Cluster, electing("warm", warm.wrap, "serviceaccount-controller")),
	}
	for what, m := range standbys {
		eventually(t, what+" sees who leads", func() (bool, string) {
			l := leaderStatus(t, m)
			return l.Holder == us.Holder && !l.Here, fmt.Sprintf("%+v", l)
		})
		// one registry is all managers' of this process
		if n := m.Count(t, "leader_election_master_status", "name", mainLease); n > 1 {
			t.Errorf("leader_election_master_status is %v", n)
		}
	}

	if all := cold.requestsWithout(away...); len(all) > 0 {
		t.Errorf("the cold standby has asked for %q", all)
	}
	if all := standbys["cold"].Status(t).Controllers; len(all) != 0 {
		t.Errorf("the cold standby has controllers: %+v", all)
	}

	if all := standbys["warm"].Status(t).Controllers; len(all) != 1 || all[0].State != "Standby" || all[0].Queue != 0 {
		t.Errorf("the warm standby has controllers: %+v", all)
	}
	for _, r := range warm.requestsWithout(away...) {
		if !strings.HasPrefix(r, "GET ") {
			t.Errorf("the warm standby has sent %s", r)
		}
	}
	if warm.requestsWithout(away...) == nil {
		t.Error("the warm standby has read nothing")
	}
}

// A manager whose Lease was taken away stops its controllers, stands by, and goes on when it has the Lease again; what
// happened meanwhile it finds.
func TestLost(t *testing.T) {
	t.Parallel()
	w := beginWorld(t)
	for _, standby := range []string{"cold", "warm"} {
		t.Run(standby, func(t *testing.T) { testLostLease(t, w, standby) })
	}
}

func testLostLease(t *testing.T, w *world, standby string) {
	m := windlass.Start(t, w.Cluster, electing(standby, nil, "serviceaccount-controller"))
	before, during := standby+"-before", standby+"-during"
	windlass.Namespace(t, w.client, before)
	windlass.Account(t, w.client, before)
	giveBack := w.takeLease(t, m)
	windlass.Namespace(t, w.client, during)
	mustSucceed(t, w.client.CoreV1().ServiceAccounts(before).Delete(t.Context(), "default", metav1.DeleteOptions{}))
	if _, err := w.client.CoreV1().ServiceAccounts(during).Get(t.Context(), "default",
		metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("somebody has made a service account: %v", err)
	}
	giveBack()
	windlass.Account(t, w.client, during)
	windlass.Account(t, w.client, before)
	if !leaderStatus(t, m).Here {
		t.Error("it doesn't lead")
	}
	m.AwaitReady(t)
	m.Stop(t)
}

// takeLease has somebody hold the main Lease until giveBack, however long that is, and waits until a manager of one
// controller stands by.
func (w *world) takeLease(t *testing.T, m *windlass.Manager) (giveBack func()) {
	t.Helper()
	change := func(spec string) {
		t.Helper()
		_, err := w.client.CoordinationV1().Leases(leaseNamespace).Patch(t.Context(), mainLease, types.MergePatchType,
			[]byte(`{"spec":`+spec+`}`), metav1.PatchOptions{})
		mustSucceed(t, err)
	}
	change(`{"holderIdentity":"somebody","leaseDurationSeconds":3600}`)
	eventually(t, "it stands by", func() (bool, string) {
		l, all := leaderStatus(t, m), m.Status(t).Controllers
		return !l.Here && l.Holder == "somebody" && len(all) == 1 && all[0].State == "Standby", fmt.Sprintf("%+v %+v", l, all)
	})
	return func() { change(`{"leaseDurationSeconds":1}`) }
}

// A warm standby whose cache is behind waits for it when it takes over: else it would make all pods once more.
func TestBehind(t *testing.T) {
	t.Parallel()
	const replicas = 30
	w := beginWorld(t)
	first := windlass.Start(t, w.Cluster, electing("warm", nil, "serviceaccount-controller", "replicaset-controller"))
	w.prepareNamespace(t)
	slow := &faults.Faults{}
	second := windlass.Start(t, w.Cluster, electing("warm", func(c *rest.Config) {
		other := &rest.Config{}
		slow.Wrap(other)
		c.Wrap(func(next http.RoundTripper) http.RoundTripper {
			late := other.WrapTransport(next)
			return trip(func(r *http.Request) (*http.Response, error) {
				if strings.HasSuffix(r.URL.Path, "/pods") {
					return late.RoundTrip(r)
				}
				return next.RoundTrip(r)
			})
		})
	}, "serviceaccount-controller", "replicaset-controller"))
	book := ledger.Keep(t, w.client, namespace)
	slow.WatchHeld.Store(true)
	labels, n := map[string]string{"app": "many"}, int32(replicas)
	_, err := w.client.AppsV1().ReplicaSets(namespace).Create(t.Context(),
		&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "many"}, Spec: appsv1.ReplicaSetSpec{
			Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main",
					Image: "main:1"}}},
			},
		}}, metav1.CreateOptions{})
	mustSucceed(t, err)
	eventually(t, "all pods", func() (bool, string) {
		have, err := w.countPods(t.Context())
		return err == nil && have == replicas, fmt.Sprint(have, " pods")
	})

	first.Stop(t)
	eventually(t, "the other one leads", func() (bool, string) {
		l := leaderStatus(t, second)
		return l.Here,
			fmt.Sprintf("%+v", l)
	})
	syncs := func() float64 {
		return second.Count(t, "windlass_syncs_total", "controller", "replicaset-controller", "result", "ok")
	}
	for from := time.Now(); time.Since(from) < 2*time.Second; { // what must not happen has time to
		if n := syncs(); n > 0 {
			t.Fatalf("the other one has done %v syncs while its cache can't show the pods", n)
		}
	}

	slow.WatchHeld.Store(false)
	eventually(t, "the other one works", func() (bool, string) { n := syncs(); return n > 0, fmt.Sprint(n, " syncs") })
	if seen := book.End(t); seen.Made != replicas {
		t.Errorf("%d pods were made, want %d", seen.Made, replicas)
	}
}
