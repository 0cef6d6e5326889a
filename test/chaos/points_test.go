package chaos

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/ledger"
	"github.com/windlass-dev/windlass/test/state"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

// rollOut is a small one: what there is before it, and what begins it.
type rollOut struct {
	name           string
	create, change func(w *world, ctx context.Context, namespace string) error
}

// changeImage begins a roll-out of the object called web.
func changeImage(resource string) func(*world, context.Context, string) error {
	return func(w *world, ctx context.Context, namespace string) error {
		patch := []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"main:2"}]}}}}`)
		return w.client.AppsV1().RESTClient().Patch(types.StrategicMergePatchType).
			Namespace(namespace).Resource(resource).Name("web").Body(patch).Do(ctx).Error()
	}
}

func createWeb(w *world, ctx context.Context, namespace string) error {
	if _, err := w.client.CoreV1().Services(namespace).Create(ctx, workload.Service("web"),
		metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := w.client.AppsV1().Deployments(namespace).Create(ctx, workload.Deployment("web", 5, workload.Rolling(2, 1)),
		metav1.CreateOptions{})
	return err
}

var small = []rollOut{
	{"deployment", createWeb, changeImage("deployments")},
	{"first-deployment", func(*world, context.Context, string) error { return nil }, createWeb},
	{"stateful-set", func(w *world, ctx context.Context, namespace string) error {
		_, err := w.client.AppsV1().StatefulSets(namespace).Create(ctx, workload.StatefulSet("web", 3),
			metav1.CreateOptions{})
		return err
	}, changeImage("statefulsets")},
	{"daemon-set", func(w *world, ctx context.Context, namespace string) error {
		_, err := w.client.AppsV1().DaemonSets(namespace).Create(ctx, workload.DaemonSet("web"), metav1.CreateOptions{})
		return err
	}, changeImage("daemonsets")},
	{"recreated", func(w *world, ctx context.Context, namespace string) error {
		_, err := w.client.AppsV1().Deployments(namespace).Create(ctx, workload.Deployment("web", 3, workload.Recreated),
			metav1.CreateOptions{})
		return err
	}, changeImage("deployments")},
	{"job", func(*world, context.Context, string) error { return nil },
		func(w *world, ctx context.Context, namespace string) error {
			_, err := w.client.BatchV1().Jobs(namespace).Create(ctx, workload.Job("web", 4, 2, workload.Indexed),
				metav1.CreateOptions{})
			return err
		}},
}

// points is a world whose windlass runs behind a gate.
type points struct {
	*world
	gate     *gate
	process  *windlass.Process
	prepared []string
	count    int // of namespaces
	kills    int
	by       map[string]int // the writes at which it was killed
}

// The process is killed at each write of a small roll-out: before the API server sees it, and when that has done it but
// before the answer comes. Each time the next process brings the roll-out to the same end, and at no revision is there
// a pod too many.
func TestEachWrite(t *testing.T) {
	t.Parallel()
	from := time.Now()
	w := newWorld(t)
	p := &points{world: w, gate: openGate(t, w.c), by: map[string]int{}}
	p.startManager()
	all, stride := small, *every
	if *kills == 0 {
		all, stride = small[:1], 24
	}

	made, lag := 0, 0
	for i, r := range all {
		calm := r.name + "-undisturbed"
		w.namespace(calm)
		windlass.Account(t, w.client, calm)
		w.must(r.create(w, t.Context(), calm))
		begin := w.undisturbed(calm)
		if i == 0 {
			w.c.OwnPodsOnly(t, calm)
		}
		w.must(r.change(w, t.Context(), calm))
		end := w.undisturbed(calm)
		l := ledger.Keep(t, w.client, "")
		p.prepared = nil
		for _, after := range []bool{false, true} {
			n := p.disturbEach(r, after, stride, l, begin, end)
			t.Logf("%5.1f s: %s: %d kills so far; the roll-out was over before write %d", time.Since(from).Seconds(), r.name,
				p.kills, n)
		}
		seen := l.End(t)
		made, lag = made+seen.Made, max(lag, seen.Lag)
	}

	p.process.Stop(t)
	t.Logf("killed %d times, each at a write (%s); %d pods made, none too many; a Deployment had at most %d that were yet to be deleted; %.0f s",
		p.kills, formatCounts(p.by), made, max(lag, 0), time.Since(from).Seconds())
	if p.kills < 4 {
		t.Errorf("killed %d times only", p.kills)
	}
}

func (p *points) startManager() {
	p.Helper()
	p.process = windlass.SpawnThrough(p, p.c, p.gate.kubeconfig, controllers...)
}

// disturbEach has roll-outs disturbed at one write after another until one is over before it comes to that write.
func (p *points) disturbEach(r rollOut, after bool, stride int, l *ledger.Ledger, begin, end state.State) (n int) {
	p.Helper()
	for n = 1; n < 500; n += stride {
		namespace := p.nextNamespace(r, begin)
		l.Rest(p)
		process := p.process
		t := &trap{namespace: namespace, n: n, after: after, kill: func() { process.Kill(p) }}
		p.gate.setTrap(t)
		p.must(r.change(p.world, p.Context(), namespace))
		write := ""
		same := p.stateMatches(namespace, end)
		cluster.Poll(p, glance, patience, "a kill, or the end", func() (bool, string) {
			select {
			case write = <-t.sprung:
				return true, ""
			default:
				return same()
			}
		})
		p.gate.setTrap(nil)
		if write == "" && t.reached() {
			write = <-t.sprung // with its very last write, all is as it should be
		}
		if write == "" {
			return n
		}
		p.kills++
		p.by[write]++
		p.startManager()
		p.expectSame(namespace, end)
	}

	p.Fatalf("%s: no end of writes", r.name)
	return n
}

// nextNamespace returns a namespace in which nothing has been disturbed yet.
func (p *points) nextNamespace(r rollOut, begin state.State) string {
	p.Helper()
	if len(p.prepared) == 0 {
		for range batch {
			name := fmt.Sprintf("%s-%d", r.name, p.count)
			p.count++
			p.namespace(name)
			p.prepared = append(p.prepared, name)
		}
		for _, name := range p.prepared {
			windlass.Account(p, p.client, name)
			p.must(r.create(p.world, p.Context(), name))
		}
		for _, name := range p.prepared {
			p.expectSame(name, begin)
		}
	}
	name := p.prepared[0]
	p.prepared = p.prepared[1:]
	return name
}

// batch is how many namespaces are prepared at a time.
const batch = 10

// parallel has a stateful set's pods made and deleted without order.
func parallel(s *appsv1.StatefulSetSpec) { s.PodManagementPolicy = appsv1.ParallelPodManagement }
