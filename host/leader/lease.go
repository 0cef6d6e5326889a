package leader

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // leader_election_master_status
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/host/process/guardian/will"
)

// Options say which Lease is held, and how.
type Options struct {
	// Config is the manager's own identity.
	Config          *rest.Config
	Namespace, Name string // of the Lease
	Identity        string // of this process among those that contend
	// Duration is how long others leave a Lease alone that isn't renewed: whole seconds. RenewDeadline and RetryPeriod are
	// client-go's.
	Duration, RenewDeadline, RetryPeriod time.Duration
	Share                                *Share
	// Will is what this process leaves to its guardian; nil: it has none.
	Will *will.Will
	// Wall is the wall clock, by default the system's: for tests whose clock jumps.
	Wall func() time.Time
}

// Identity makes a name for this process, as upstream does: that of the machine with a UID.
func Identity() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("leader election: can't read the host's name, which begins this process's identity: %w", err)
	}
	return host + "_" + string(uuid.NewUUID()), nil
}

// drainMax is how long requests that are under way when all controllers have stopped may take before the Lease isn't
// released because of them.
const drainMax = 2 * time.Second

// healthSlack is for how long a Lease may be over before the process counts as ill, as upstream has it
// (cmd/kube-controller-manager/app/controllermanager.go).
const healthSlack = 20 * time.Second

// Lease is one Lease that this process holds or would like to hold.
type Lease struct {
	Options
	lock   *resourcelock.LeaseLock
	events record.EventBroadcaster
	watch  kubernetes.Interface
	fence  *fence
	conns  *conns
	// pending are the writes whose end isn't known.
	pending pending
	health  *leaderelection.HealthzAdaptor

	acquired metav1.Time // of the present term; only the elector's goroutine has to do with it

	mu       sync.Mutex
	seen     observation
	leading  bool
	reserved bool // of the Share
	term     int  // the Lease's transitions when it was taken
	lose     context.CancelFunc
}

// observation is the Lease as it was seen last.
type observation struct {
	record resourcelock.LeaderElectionRecord
	exists bool
	raw    string
	since  time.Time // when it was first seen so
}

// freeFrom returns from when on another process may take the Lease.
func (o *observation) freeFrom() time.Time {
	if !o.exists || o.record.HolderIdentity == "" {
		return o.since
	}
	return o.since.Add(time.Duration(o.record.LeaseDurationSeconds) * time.Second)
}

// New makes a Lease. Run contends for it.
func New(o Options) (*Lease, error) {
	client, watch, err := clients(o)
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	l := &Lease{Options: o, watch: watch, fence: newFence(o.Duration, o.RenewDeadline, clocksWith(o.Wall)),
		health: leaderelection.NewLeaderHealthzAdaptor(healthSlack)}
	l.pending.will = o.Will
	l.conns = newConns(l.fence, Late(o.Duration), o.Will)
	l.events = record.NewBroadcaster()
	l.events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	l.lock = &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}, Client: client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: o.Identity,
			EventRecorder: l.events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "kube-controller-manager"})},
	}
	return l, nil
}

// clients are those of a Lease, one for requests and one that watches. They have a connection of their own, on which
// nothing holds a renewal up.
func clients(o Options) (requests, watches kubernetes.Interface, err error) {
	c := rest.AddUserAgent(rest.CopyConfig(o.Config), "leader-election")
	c.QPS = -1
	if c.Dial == nil {
		c.Dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	way, err := rest.TransportFor(c)
	if err != nil {
		return nil, nil, err
	}
	// As upstream: a request that hangs must leave time for another one.
	if requests, err = kubernetes.NewForConfigAndClient(c,
		&http.Client{Transport: way, Timeout: o.RenewDeadline / 2}); err != nil {
		return nil, nil, err
	}
	watches, err = kubernetes.NewForConfigAndClient(c, &http.Client{Transport: way})
	return requests, watches, err
}

// Run contends for the Lease until ctx ends, again and again. lead is called when it is held: its context ends when the
// Lease is lost, or with ctx; the Lease is renewed until lead has returned, and released then unless it was lost.
func (l *Lease) Run(ctx context.Context, lead func(ctx context.Context)) {
	defer l.events.Shutdown()
	for ctx.Err() == nil {
		if err := l.runTerm(ctx, lead); err != nil {
			klog.ErrorS(err, "Leader election can't run", "lease", l.lock.Describe())
			return
		}
	}
}

// runTerm waits for the Lease and holds it until it is lost, or ctx ends.
func (l *Lease) runTerm(ctx context.Context, lead func(ctx context.Context)) error {
	electing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	work, end := context.WithCancel(ctx)
	defer end()
	l.mu.Lock()
	l.lose = stop
	l.mu.Unlock()
	waiting := context.AfterFunc(ctx, func() {
		if !l.Leading() {
			stop()
		}
	})
	defer waiting()

	ended := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &lock{l.lock, l}, Name: l.Name, LeaseDuration: l.Duration, RenewDeadline: l.RenewDeadline,
		RetryPeriod: l.RetryPeriod, WatchDog: l.health,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				defer close(ended)
				lead(work)
				stop()
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}

	l.health.SetLeaderElection(elector)
	elector.Run(electing)
	if !l.Leading() {
		return nil // ctx has ended first
	}

	select {
	case <-ended: // lead has returned: ctx has ended
	default:
		if ctx.Err() == nil {
			klog.InfoS("Lost the lease, stopping the controllers", "lease", l.lock.Describe())
		}
		l.fence.closeFence()
		l.conns.dropAll()
		end()
		<-ended
	}

	if ctx.Err() != nil {
		l.pending.closeAndWait(drainMax) // events, say, which nobody has waited for
	}
	l.fence.closeFence()
	l.conns.dropAll()
	if ctx.Err() != nil {
		l.release()
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	l.leading = false
	l.returnPlace()
	return nil
}

// release gives the Lease up, so that others needn't wait until it is too old. It isn't done while a write may still
// take effect.
func (l *Lease) release() {
	if n := l.pending.countWrites(); n > 0 {
		klog.InfoS("Not releasing the lease: the API server may still carry out writes whose responses were lost", "lease",
			l.lock.Describe(), "writes", n)
		return
	}
	releaseLease(l.lock, l.RenewDeadline/2, l.isCurrentTerm)
}

// Release returns a Lease up for a process that has ended, if that process holds it: Options name both. It must be
// known that no write of that process can be under way.
func Release(o Options) error {
	client, _, err := clients(o)
	if err != nil {
		return fmt.Errorf("lease %s/%s: %w", o.Namespace, o.Name, err)
	}
	lock := &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name},
		Client: client.CoordinationV1()}
	releaseLease(lock, o.RenewDeadline/2,
		func(r *resourcelock.LeaderElectionRecord) bool { return r.HolderIdentity == o.Identity })
	return nil
}

// releaseLease releases a Lease while it is ours, for so long at most.
func releaseLease(lock *resourcelock.LeaseLock, within time.Duration,
	ours func(*resourcelock.LeaderElectionRecord) bool) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for said := ""; ctx.Err() == nil; {
		r, _, err := lock.Get(ctx)
		if apierrors.IsNotFound(err) || err == nil && !ours(r) {
			return
		}
		if err == nil {
			now := metav1.NewTime(time.Now())
			err = lock.Update(ctx, resourcelock.LeaderElectionRecord{LeaderTransitions: r.LeaderTransitions,
				LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now})
		}
		if err == nil {
			klog.InfoS("Released the lease", "lease", lock.Describe())
			return
		}

		if why := err.Error(); why != said {
			said = why
			klog.ErrorS(err, "Can't release the lease", "lease", lock.Describe())
		}

		if apierrors.IsForbidden(err) {
			return
		}
		select { // a renewal may just have been done
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// isCurrentTerm reports whether a record is of the term that this process is in.
func (l *Lease) isCurrentTerm(r *resourcelock.LeaderElectionRecord) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leading && r.HolderIdentity == l.Identity && r.LeaderTransitions == l.term
}

// Leading reports whether this process holds the Lease, as far as it knows.
func (l *Lease) Leading() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leading
}

// Await waits until a write may be sent and reports how long it may take; the error says that the Lease is lost, or
// that ctx has ended.
func (l *Lease) Await(ctx context.Context) (time.Duration, error) { return l.fence.awaitFresh(ctx) }

// Holder is who holds the Lease as it was seen last, and since when; empty: nobody, as far as is known.
func (l *Lease) Holder() (identity string, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen.record.HolderIdentity, l.seen.record.AcquireTime.Time
}

// Check fails when the Lease should be held by this process and wasn't renewed for too long.
func (l *Lease) Check() error { return l.health.Check(nil) }
