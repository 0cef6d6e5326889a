// Package leadership runs several managers on one cluster, ends, kills and freezes them, and looks in the API server's
// audit log who wrote when.
package leadership

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// The Leases' times, short so that the tests are, and long enough for a leader to renew its Lease on a machine that
// others use, too.
const (
	duration = 6 * time.Second
	deadline = 4 * time.Second
	retry    = 500 * time.Millisecond

	patience = 2 * time.Minute
)

// The Lease of all controllers, or of those in no group.
const (
	leaseNamespace = "kube-system"
	mainLease      = "kube-controller-manager"
)

const namespace = "web"

// election is the field of the configuration file.
func election(more string) string {
	return fmt.Sprintf("leaderElection: {leaderElect: true, leaseDuration: %v, renewDeadline: %v, retryPeriod: %v, %s}\n",
		duration, deadline, retry, more)
}

// replica is one of several processes, told apart by the address that its requests come from.
type replica struct {
	*windlass.Process
	source string
}

// world is a cluster with managers.
type world struct {
	*cluster.Cluster
	client   kubernetes.Interface
	replicas int
}

func beginWorld(t *testing.T) *world {
	t.Helper()
	c := cluster.Start(t, cluster.Options{Nodes: 3, Audit: true})
	return &world{Cluster: c, client: c.Client()}
}

// prepareNamespace makes the namespace of the tests' objects; a manager must run.
func (w *world) prepareNamespace(t *testing.T) {
	t.Helper()
	w.makeNamespace(t, namespace)
	windlass.Account(t, w.client, namespace)
}

func (w *world) makeNamespace(t *testing.T, name string) {
	t.Helper()
	_, err := w.client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	mustSucceed(t, err)
}

// startReplica starts another process.
func (w *world) startReplica(t *testing.T, fields string, controllers ...string) *replica {
	t.Helper()
	return w.spawnReplica(t, windlass.Replica{Fields: fields}, controllers...)
}

func (w *world) spawnReplica(t *testing.T, p windlass.Replica, controllers ...string) *replica {
	t.Helper()
	w.replicas++
	p.Fields += slowly
	r := &replica{source: fmt.Sprint("127.0.0.", 10+w.replicas)}
	p.Name, p.Kubeconfig = fmt.Sprint("replica-", w.replicas), w.routeByProxy(t, r.source)
	r.Process = windlass.SpawnReplica(t, w.Cluster, p, controllers...)
	return r
}

// routeByProxy writes a kubeconfig that leads to the API server by way of a proxy, so that requests come from an
// address.
func (w *world) routeByProxy(t *testing.T, source string) string {
	t.Helper()
	k, err := clientcmd.LoadFromFile(w.ManagerKubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	for _, server := range k.Clusters {
		host, ok := strings.CutPrefix(server.Server, "https://")
		if !ok {
			t.Fatalf("%s is not https", server.Server)
		}
		go forward(l, host, source)
		server.Server = "https://" + l.Addr().String()
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*k, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// forward passes connections on until the listener is closed.
func forward(l net.Listener, to, source string) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer in.Close()
			out, err := dialer.Dial("tcp", to)
			if err != nil {
				return
			}
			defer out.Close()
			end := sync.OnceFunc(func() { in.Close(); out.Close() })
			go func() {
				defer end()
				_, _ = io.Copy(out, in)
			}()
			defer end()
			_, _ = io.Copy(in, out)
		}()
	}
}

// awaitHolder waits until a Lease is held by somebody, and reports where its last renewal came from.
func (w *world) awaitHolder(t *testing.T, lease string) string {
	t.Helper()
	source := ""
	cluster.Poll(t, 100*time.Millisecond, patience, lease+" is held", func() (bool, string) {
		l, err := w.client.CoordinationV1().Leases(leaseNamespace).Get(t.Context(), lease, metav1.GetOptions{})
		if err != nil || l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "" {
			return false, fmt.Sprint("nobody: ", err)
		}
		if time.Since(l.Spec.RenewTime.Time) > deadline {
			return false, "renewed at " + l.Spec.RenewTime.String()
		}
		for _, e := range w.renewals(t, lease) {
			source = e.Source
		}
		return source != "", "no renewal in the audit log"
	})
	return source
}

// renewals are what was written to a Lease, in the order in which the API server received it: in the audit log it is
// that of the answers.
func (w *world) renewals(t *testing.T, lease string) (all []cluster.Event) {
	t.Helper()
	for _, e := range w.Audit(t, cluster.Filter{Verbs: []string{"create", "update"}, Resources: []string{"leases"},
		Namespace: leaseNamespace}) {
		// A create's name isn't in its address.
		if (e.Name == lease || e.Verb == "create" && e.Name == "") && e.Code < 300 {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b cluster.Event) int { return a.Received.Compare(b.Received) })
	return all
}

// listWrites returns the writes of controllers since a time, as their service accounts, in the order in which the API
// server received them. Whether they were allowed doesn't matter.
func (w *world) listWrites(t *testing.T, since time.Time) []cluster.Event {
	t.Helper()
	var all []cluster.Event
	for _, e := range w.Audit(t, cluster.Filter{Verbs: cluster.Writes}) {
		if strings.HasPrefix(e.User, "system:serviceaccount:kube-system:") && e.Received.After(since) {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b cluster.Event) int { return a.Received.Compare(b.Received) })
	return all
}

// firstBy waits for a write since a time that comes from an address and that the condition selects.
func (w *world) firstBy(t *testing.T, since time.Time, what string, condition func(cluster.Event) bool) cluster.Event {
	t.Helper()
	var first cluster.Event
	cluster.Poll(t, 50*time.Millisecond, patience, what, func() (bool, string) {
		all := w.listWrites(t, since)
		i := slices.IndexFunc(all, condition)
		if i < 0 {
			return false, fmt.Sprintf("%d writes since %v", len(all), since)
		}
		first = all[i]
		return true, ""
	})
	return first
}

// expectTurns fails the test if two processes were one controller at a time: all that one has written was done before
// the next one wrote anything. It gives how often each controller changed places.
func (w *world) expectTurns(t *testing.T) map[string]int {
	t.Helper()
	turns := map[string]int{}
	last := map[string]cluster.Event{} // by user: the write that ended last
	had := map[string]map[string]bool{}
	for _, e := range w.listWrites(t, time.Time{}) {
		before, ok := last[e.User]
		if had[e.User] == nil {
			had[e.User] = map[string]bool{}
		}
		if ok && before.Source != e.Source {
			turns[e.User]++
			if had[e.User][e.Source] {
				t.Logf("%s is at %s again", e.User, e.Source)
			}
			if before.Time.After(e.Received) {
				t.Errorf("two at a time: %v (from %s at %v) came before %v (from %s) had ended at %v", e, e.Source, e.Received,
					before, before.Source, before.Time)
			}
		}
		had[e.User][e.Source] = true
		if !ok || e.Source != before.Source || e.Time.After(before.Time) {
			last[e.User] = e
		}
	}

	if len(last) == 0 {
		t.Error("no controller has written anything")
	}
	return turns
}

// eventually waits for something that costs little to look at.
func eventually(t *testing.T, what string, condition func() (bool, string)) {
	t.Helper()
	cluster.Eventually(t, patience, what, condition)
}

func mustSucceed(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// countPods returns how many there are.
func (w *world) countPods(ctx context.Context) (int, error) {
	l, err := w.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return 0, err
	}
	return len(l.Items), nil
}
