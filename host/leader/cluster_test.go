package leader

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/test/cluster"
)

const (
	duration = 8 * time.Second
	deadline = 5 * time.Second // twenty renewals: a busy machine has time for one
	retry    = 250 * time.Millisecond

	patience = time.Minute
)

// contender is a process as the API server sees it.
type contender struct {
	*Lease
	config *rest.Config
	cut    atomic.Bool // nothing gets through
	terms  chan context.Context
	drain  chan struct{} // what the controllers' writes wait for
	stop   func()
	ended  chan struct{}
}

// contend has a process contend for a Lease until the test is over.
func contend(t *testing.T, c *cluster.Cluster, name, identity string, share *Share) *contender {
	t.Helper()
	x := &contender{config: c.RESTConfig(), terms: make(chan context.Context, 10), drain: make(chan struct{}),
		ended: make(chan struct{})}
	x.config.Wrap(func(next http.RoundTripper) http.RoundTripper { return x.through(next) })
	var err error
	x.Lease, err = New(Options{Config: x.config, Namespace: "kube-system", Name: name, Identity: identity,
		Duration: duration, RenewDeadline: deadline, RetryPeriod: retry, Share: share})
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	x.stop = sync.OnceFunc(cancel)
	go func() {
		defer close(x.ended)
		x.Run(ctx, func(ctx context.Context) {
			x.terms <- ctx
			<-ctx.Done()
			<-x.drain
		})
	}()

	t.Cleanup(func() {
		x.cut.Store(false)
		x.stop()
		select {
		case <-x.drain:
		default:
			close(x.drain)
		}
		<-x.ended
	})
	return x
}

type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (c *contender) through(next http.RoundTripper) http.RoundTripper {
	return trip(func(r *http.Request) (*http.Response, error) {
		if c.cut.Load() {
			return nil, errors.New("cut off by a test")
		}
		return next.RoundTrip(r)
	})
}

// waitToLead waits until it leads.
func (c *contender) waitToLead(t *testing.T) context.Context {
	t.Helper()
	select {
	case ctx := <-c.terms:
		return ctx
	case <-time.After(patience):
		t.Fatalf("%s doesn't come to lead", c.Identity)
		return nil
	}
}

// requireStandby fails the test if it leads.
func (c *contender) requireStandby(t *testing.T) {
	t.Helper()
	select {
	case <-c.terms:
		t.Fatalf("%s leads as well", c.Identity)
	default:
	}
}

func getLease(t *testing.T, client kubernetes.Interface, name string) *coordinationv1.Lease {
	t.Helper()
	l, err := client.CoordinationV1().Leases("kube-system").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestOnCluster(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	client := c.Client()
	t.Run("released last", func(t *testing.T) { released(t, c, client) })
	t.Run("renewals fail", func(t *testing.T) { testCutOff(t, c, client) })
	t.Run("taken away", func(t *testing.T) { takenAway(t, c, client) })
	t.Run("shared", func(t *testing.T) { testShared(t, c) })
	t.Run("no rights", func(t *testing.T) { noRights(t, c) })
}

// A process that is told to stop renews the Lease until its controllers have stopped; then the next one has it at once.
func released(t *testing.T, c *cluster.Cluster, client kubernetes.Interface) {
	a := contend(t, c, "released", "a", nil)
	work := a.waitToLead(t)
	b := contend(t, c, "released", "b", nil)
	cluster.Poll(t, retry/4, patience, "b sees who leads", func() (bool, any) {
		holder, _ := b.Holder()
		return holder == "a", holder
	})

	a.stop()
	<-work.Done()
	before := getLease(t, client, "released").Spec.RenewTime
	cluster.Poll(t, retry/4, patience, "the Lease outlasts its duration while writes are drained", func() (bool, any) {
		b.requireStandby(t)
		if _, err := a.Await(t.Context()); err != nil {
			t.Fatalf("a write that is drained: %v", err)
		}
		now := getLease(t, client, "released").Spec
		return *now.HolderIdentity == "a" && now.RenewTime.Sub(before.Time) > duration+retry, now
	})

	from := time.Now()
	close(a.drain)
	b.waitToLead(t)
	if took := time.Since(from); took > duration/2 {
		t.Errorf("b leads %v after a has stopped", took)
	}

	<-a.ended
	if _, err := a.Await(t.Context()); !errors.Is(err, ErrNotLeader) {
		t.Errorf("a may write: %v", err)
	}

	cluster.Poll(t, retry/4, patience, "b renews", func() (bool, any) {
		now := getLease(t, client, "released").Spec
		return now.RenewTime.After(now.AcquireTime.Time), now
	})

	l := getLease(t, client, "released").Spec
	if *l.HolderIdentity != "b" || *l.LeaseTransitions != 1 || *l.LeaseDurationSeconds != int32(duration/time.Second) ||
		l.AcquireTime.Before(&metav1.MicroTime{Time: from}) {
		t.Errorf("%+v", l)
	}
}

// A process that can't renew stops writing before another one may take the Lease, and stands by again afterwards.
func testCutOff(t *testing.T, c *cluster.Cluster, client kubernetes.Interface) {
	a := contend(t, c, "cut", "a", nil)
	work := a.waitToLead(t)
	b := contend(t, c, "cut", "b", nil)
	cluster.Poll(t, retry/4, patience, "b sees who leads", func() (bool, any) {
		holder, _ := b.Holder()
		return holder == "a", holder
	})
	a.cut.Store(true)
	<-work.Done()
	b.requireStandby(t)
	if left, err := a.fence.timeLeft(); err == nil {
		t.Errorf("a may write for %v", left)
	}
	close(a.drain)
	b.waitToLead(t)
	if *getLease(t, client, "cut").Spec.LeaseTransitions != 1 {
		t.Errorf("%+v", getLease(t, client, "cut").Spec)
	}
	a.cut.Store(false)
	close(b.drain)
	b.stop()
	a.waitToLead(t)
}

// Whatever happens to the Lease meanwhile, a term doesn't go on as if nothing had.
func takenAway(t *testing.T, c *cluster.Cluster, client kubernetes.Interface) {
	all := client.CoordinationV1().Leases("kube-system")
	for what, do := range map[string]func(name string) error{
		"deleted": func(name string) error { return all.Delete(context.Background(), name, metav1.DeleteOptions{}) },
		"given to somebody": func(name string) error {
			_, err := all.Patch(context.Background(), name, "application/merge-patch+json",
				[]byte(`{"spec":{"holderIdentity":"somebody"}}`), metav1.PatchOptions{})
			return err
		},
		"given up": func(name string) error {
			_, err := all.Patch(context.Background(), name, "application/merge-patch+json",
				[]byte(`{"spec":{"holderIdentity":""}}`), metav1.PatchOptions{})
			return err
		},
		"held again meanwhile": func(name string) error {
			_, err := all.Patch(context.Background(), name, "application/merge-patch+json",
				[]byte(`{"spec":{"leaseTransitions":7}}`), metav1.PatchOptions{})
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			name := strings.ReplaceAll(what, " ", "-")
			a := contend(t, c, name, "a", nil)
			close(a.drain)
			work := a.waitToLead(t)
			from := time.Now()
			if err := do(name); err != nil {
				t.Fatal(err)
			}

			<-work.Done()
			if took := time.Since(from); took > deadline {
				t.Errorf("noticed after %v", took)
			}

			a.waitToLead(t)
			if _, err := a.Await(t.Context()); err != nil {
				t.Error(err)
			}
			if holder, since := a.Holder(); holder != "a" || since.Before(from) {
				t.Errorf("held by %q since %v: this term began after %v", holder, since, from)
			}
		})
	}
}

// Three processes that start together have a Lease each, and when one goes its Lease is another's.
func testShared(t *testing.T, c *cluster.Cluster) {
	const n = 3
	var all [n][n]*contender
	begin := make(chan struct{})
	var started sync.WaitGroup
	for i := range n {
		share := NewShare(5 * time.Second) // time enough for the others to be there
		for j := range n {
			started.Go(func() {
				<-begin
				all[i][j] = contend(t, c, fmt.Sprint("share-", (i+j)%n), fmt.Sprint("p", i), share)
				close(all[i][j].drain)
			})
		}
	}

	close(begin)
	started.Wait()
	held := func() (each [n]int, sum int) {
		for i := range n {
			for j := range n {
				if all[i][j].Leading() {
					each[i]++
					sum++
				}
			}
		}
		return each, sum
	}

	cluster.Poll(t, retry/4, patience, "all Leases are held", func() (bool, any) {
		each, sum := held()
		return sum == n, each
	})
	if each, _ := held(); each != [n]int{1, 1, 1} {
		t.Errorf("Leases held by each: %v", each)
	}

	for j := range n {
		all[0][j].stop()
	}
	cluster.Poll(t, retry/4, patience, "the others hold all Leases", func() (bool, any) {
		each, sum := held()
		return sum == n && each[0] == 0, each
	})
}

// Without a role for Leases, which upstream's has in kube-system only, nothing is led, and the error says what is
// missing.
func noRights(t *testing.T, c *cluster.Cluster) {
	l, err := New(Options{Config: c.ManagerRESTConfig(), Namespace: "default", Name: "kube-controller-manager-group",
		Identity: "a", Duration: duration, RenewDeadline: deadline, RetryPeriod: retry})
	if err != nil {
		t.Fatal(err)
	}
	err = (&lock{l.lock, l}).Create(t.Context(), entry{HolderIdentity: "a", LeaseDurationSeconds: 2})
	want := "give the manager a role with get and update of leases/kube-controller-manager-group, and create of leases, in namespace default"
	if err == nil || !strings.Contains(err.Error(), want) || l.Leading() {
		t.Errorf("%v, leading: %t\nhas no %q", err, l.Leading(), want)
	}
}
