package leadership

import (
	"syscall"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/ledger"
	"github.com/windlass-dev/windlass/test/workload"
)

var controllers = []string{"deployment-controller", "replicaset-controller", "endpointslice-controller",
	"endpoints-controller", "serviceaccount-controller", "root-ca-certificate-publisher-controller"}

const replicaSets = "system:serviceaccount:kube-system:replicaset-controller"

// Three processes share the controllers by the Leases of groups: each controller is run by exactly one of them at any
// time, and when one is killed its controllers go on elsewhere where they were.
func TestGroups(t *testing.T) {
	t.Parallel()
	w := beginWorld(t)
	fields := election(`standby: warm, groups: [{name: workloads, controllers: [deployment, replicaset]}, {name: services, controllers: [endpointslice-controller, endpoint]}]`)
	all := map[string]*replica{}
	start := func() {
		r := w.startReplica(t, fields, controllers...)
		all[r.source] = r
	}
	for range 3 {
		start()
	}
	leases := []string{mainLease, mainLease + "-workloads", mainLease + "-services"}
	at := map[string]string{}
	for _, l := range leases {
		at[l] = w.awaitHolder(t, l)
	}
	t.Logf("holders at first: %v", at)
	w.prepareNamespace(t)
	book := ledger.Keep(t, w.client, namespace)
	web := workload.Web{Client: w.client, Namespace: namespace, Name: "web"}
	mustSucceed(t, web.Create(t.Context(), 20))
	converge(t, web, 20, "web:1")

	for i, image := range []string{"web:2", "web:3"} {
		n := int32(30 + 10*i)
		book.Rest(t)
		since := time.Now()
		mustSucceed(t, web.Scale(t.Context(), n))
		mustSucceed(t, web.Image(t.Context(), image))
		under := w.firstBy(t, since, "a pod is made", func(e cluster.Event) bool {
			return e.Resource == "pods" &&
				e.Verb == "create"
		})
		victim := all[under.Source]
		if victim == nil {
			t.Fatalf("%v came from %s", under, under.Source)
		}
		killed := time.Now()
		if i == 0 {
			victim.Kill(t) // nobody gives its Leases up
		} else {
			victim.KillManager(t, syscall.SIGKILL)
		}
		next := w.firstBy(t, killed, "another process goes on with it",
			func(e cluster.Event) bool { return e.User == replicaSets && e.Source != victim.source })
		took := next.Received.Sub(killed)
		t.Logf("killed %s under way to %s: the next write came %v later from %s", victim.source, image,
			took.Round(time.Millisecond), next.Source)
		if most := 2*duration + 10*under.Received.Sub(since); took > most { // what this machine takes to come to a change
			t.Errorf("it took %v, want %v at most", took, most)
		}
		delete(all, victim.source)
		start()
		converge(t, web, n, image)
	}
	book.End(t)
	turns := w.expectTurns(t)
	t.Logf("changes of place: %v", turns)
	if turns[replicaSets] != 2 {
		t.Errorf("the replica set controller changed places %d times, want 2", turns[replicaSets])
	}
}

func converge(t *testing.T, web workload.Web, n int32, image string) {
	t.Helper()
	eventually(t, image, func() (bool, string) {
		done, seen, err := web.Converged(t.Context(), n, image)
		if err != nil {
			return false, err.Error()
		}
		return done, seen
	})
}
