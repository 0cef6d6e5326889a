// Package chaos kills Windlass in the midst of roll-outs, at each of its writes and at random moments, and looks at
// every revision and at what is left in the end.
package chaos

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/plugins/builtin"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/state"
	"github.com/windlass-dev/windlass/test/windlass"
)

var (
	kills = flag.Int("kills", 0,
		"kills at random moments, and one at each write of the small roll-outs; 0 is the short form: some steps, some writes")
	every = flag.Int("every", 1, "of the small roll-outs' writes, take each so many")
	seed  = flag.Uint64("seed", 0, "of the random moments; 0 takes the time")
)

// controllers are all.
var controllers = builtin.Names()

const (
	nodes = 3
	// patience is far more than anything takes here, for machines on which many tests run at once.
	patience = 5 * time.Minute
	// glance is how often a namespace is looked at.
	glance = 150 * time.Millisecond
)

// world is a cluster with a client.
type world struct {
	*testing.T
	c      *cluster.Cluster
	client kubernetes.Interface
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, c: cluster.Start(t, cluster.Options{Nodes: nodes})}
	config := w.c.RESTConfig()
	config.ContentType, config.WarningHandler = "application/vnd.kubernetes.protobuf", rest.NoWarnings{} // of Endpoints
	w.client = kubernetes.NewForConfigOrDie(config)
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) namespace(name string) {
	w.Helper()
	_, err := w.client.CoreV1().Namespaces().Create(w.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	w.must(err)
}

// account reports whether there is the service account without which admission refuses pods.
func (w *world) account(namespace string) (bool, string) {
	_, err := w.client.CoreV1().ServiceAccounts(namespace).Get(w.Context(), "default", metav1.GetOptions{})
	return err == nil, fmt.Sprint(err)
}

func (w *world) readState(namespace string) state.State {
	w.Helper()
	s, err := state.Of(w.Context(), w.client, namespace)
	w.must(err)
	return s
}

// undisturbed waits until a namespace is at rest and has not changed for so long, and gives its state.
func (w *world) undisturbed(namespace string) (last state.State) {
	w.Helper()
	const quiet = 2 * time.Second
	since := time.Now()
	cluster.Poll(w, glance, patience, namespace+" comes to rest", func() (bool, string) {
		now := w.readState(namespace)
		if !diff.Equal(last, now) {
			since, last = time.Now(), now
		}
		unrest := now.Unrest()
		return unrest == "" && time.Since(since) > quiet, unrest
	})
	return last
}

// stateMatches returns a condition: that a namespace's state is the wanted one.
func (w *world) stateMatches(namespace string, want state.State) func() (bool, string) {
	return func() (bool, string) {
		differ, err := want.Differs(w.Context(), w.client, namespace)
		if err != nil {
			return false, err.Error()
		}
		return differ == "", "not yet as undisturbed: " + differ
	}
}

// expectSame waits for the state, and tells in full what is different if it doesn't come.
func (w *world) expectSame(namespace string, want state.State) {
	w.Helper()
	same, until := w.stateMatches(namespace, want), time.Now().Add(patience)
	cluster.Poll(w, glance, 2*patience, namespace+" becomes as it does undisturbed", func() (bool, string) {
		return w.checkInTime(until, namespace, want, same)
	})
}

// checkInTime looks at a condition, and fails the test with all differences when it is late.
func (w *world) checkInTime(until time.Time, namespace string, want state.State, same func() (bool, string)) (bool,
	string) {
	w.Helper()
	done, seen := same()
	if !done && time.Now().After(until) {
		w.Fatalf("%s: not as undisturbed within %v (-undisturbed +killed):\n%s", namespace, patience,
			diff.Diff(want, w.readState(namespace)))
	}
	return done, seen
}

// killedUntil has processes live and die until the namespace is as it is undisturbed, and tells in full what is
// different if that doesn't come.
func (w *world) killedUntil(k *windlass.Killer, namespace, step string, want state.State) {
	w.Helper()
	same, until := w.stateMatches(namespace, want), time.Now().Add(patience)
	k.Until(w, glance, 2*patience, step, func() (bool, string) {
		done, seen := w.checkInTime(until, namespace, want, same)
		return done, namespace + ", " + step + ": " + seen
	})
}

// formatCounts lists counts, the largest first.
func formatCounts(counts map[string]int) string {
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]),
			cmp.Compare(a, b))
	})
	for i, k := range keys {
		keys[i] = fmt.Sprintf("%d × %s", counts[k], k)
	}
	return strings.Join(keys, ", ")
}
