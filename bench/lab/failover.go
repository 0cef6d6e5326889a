package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/bench/audit"
	"github.com/windlass-dev/windlass/bench/scenario"
	"github.com/windlass-dev/windlass/bench/subject"
	"github.com/windlass-dev/windlass/test/cluster"
)

// Failover is one leader's end, as the API server's clock has it.
type Failover struct {
	// FromKill is the time from the leader's SIGKILL to its successor's first write for a controller.
	FromKill time.Duration
	// Taking is the part of it until the Lease was taken, Working the rest.
	Taking, Working time.Duration
	// FromExpiry is the time to the write from the moment on which the Lease would have expired: its last renewal and its
	// duration. Where somebody has given the Lease up it is less than 0.
	FromExpiry time.Duration
}

// Standby is a manager that waits for another one's end.
type Standby struct {
	Kind    subject.Kind
	Standby string
	// Both tells that the leader's guardian is killed with it, as where a container or a machine ends; the native manager
	// has none.
	Both bool
}

// Standbys are those that are compared.
var Standbys = []Standby{{subject.Native, "cold", false}, {subject.Windlass, "cold", false},
	{subject.Windlass, "warm", false}, {subject.Windlass, "warm", true}}

func (s Standby) String() string {
	if s.Both {
		return string(s.Kind) + ", " + s.Standby + ", guardian killed, too"
	}
	return string(s.Kind) + ", " + s.Standby
}

// leaseTime is the managers' default.
const leaseTime = 15 * time.Second

// Failovers kills leaders on copies of one base's cluster, by turns of each kind, all with upstream's times.
func Failovers(ctx context.Context, o Options, base *scenario.Base) (map[Standby][]Failover, error) {
	o.Say("preparing cluster %q", base.Name)
	template, err := o.template(ctx, base)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(template)
	all := map[Standby][]Failover{}
	for n := range o.Pairs {
		for _, s := range Standbys {
			f, err := o.failover(ctx, base, template, s)
			if err != nil {
				return nil, fmt.Errorf("%v: %w", s, err)
			}
			o.Say("%s, %d of %d: %v: %.3f s from the kill: %.3f s until the Lease was taken, %.3f s more until a write; %.3f "+
				"s from the expiry",
				base.Name, n+1, o.Pairs, s, f.FromKill.Seconds(), f.Taking.Seconds(), f.Working.Seconds(), f.FromExpiry.Seconds())
			all[s] = append(all[s], f)
		}
	}
	return all, nil
}

func (o Options) failover(ctx context.Context, base *scenario.Base, template string, s Standby) (f Failover,
	err error) {
	dir := filepath.Join(o.Dir, "run")
	if out, err := exec.CommandContext(ctx, "cp", "-a", template, dir).CombinedOutput(); err != nil {
		return f, fmt.Errorf("copying %s: %w: %s", template, err, out)
	}

	defer os.RemoveAll(dir)
	c, err := cluster.Run(ctx, cluster.Options{Dir: dir, Nodes: base.Nodes(o.Full), Audit: true})
	if err != nil {
		return f, err
	}

	defer c.Stop()
	w, err := scenario.NewWorld(c, o.Full)
	if err != nil {
		return f, err
	}

	defer w.Close()
	log := &audit.Log{Path: c.AuditLog}
	with := o.Subject
	with.Standby = s.Standby
	with.Name = "leader"
	leader, err := subject.Start(s.Kind, c, with)
	if err != nil {
		return f, err
	}

	defer leader.Stop()
	w.Alive = leader.Err
	if err := createNamespace(ctx, w, "before"); err != nil {
		return f, fmt.Errorf("the leader: %w", err)
	}

	with.Name = "successor"
	successor, err := subject.Start(s.Kind, c, with)
	if err != nil {
		return f, err
	}

	defer successor.Stop()
	if err := standing(ctx, c, successor); err != nil {
		return f, err
	}
	if _, err := waitForRest(ctx, log, leader); err != nil {
		return f, err
	}

	lease, err := w.Client.CoordinationV1().Leases("kube-system").Get(ctx, "kube-controller-manager", metav1.GetOptions{})
	if err != nil {
		return f, err
	}

	first := *lease.Spec.HolderIdentity
	killed := time.Now()
	if err := leader.Kill(s.Both); err != nil {
		return f, err
	}

	w.Alive = successor.Err
	expiry := lease.Spec.RenewTime.Add(leaseTime)

	// Work that waits for whoever comes.
	if err := createNamespace(ctx, w, "after"); err != nil {
		return f, fmt.Errorf("the successor: %w", err)
	}
	if lease, err = w.Client.CoordinationV1().Leases("kube-system").Get(ctx, lease.Name, metav1.GetOptions{}); err != nil {
		return f, err
	}

	taken := lease.Spec.AcquireTime.Time
	events, err := log.Read()
	if err != nil {
		return f, err
	}

	var wrote time.Time
	for _, e := range events {
		if e.Manager() && e.Write() && e.Namespace == "after" && e.Received.After(killed) &&
			(wrote.IsZero() || e.Received.Before(wrote)) {
			wrote = e.Received
		}
	}

	if wrote.IsZero() || *lease.Spec.HolderIdentity == first || wrote.Before(taken) {
		return f, fmt.Errorf("no write of the successor's is in the audit log after it took the Lease at %v", taken)
	}
	return Failover{FromKill: wrote.Sub(killed), Taking: taken.Sub(killed), Working: wrote.Sub(taken),
		FromExpiry: wrote.Sub(expiry)}, nil
}

// createNamespace makes a namespace and waits for its service account.
func createNamespace(ctx context.Context, w *scenario.World, name string) error {
	if _, err := w.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{}); err != nil {
		return err
	}
	for until := time.Now().Add(3 * time.Minute); ; {
		_, err := w.Client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			return nil
		}
		if dead := w.Alive(); dead != nil {
			return dead
		}
		if time.Now().After(until) {
			return fmt.Errorf("namespace %s has no service account after 3 minutes: %w", name, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// standing waits until a manager stands by: the native one says so, of Windlass /readyz tells.
func standing(ctx context.Context, c *cluster.Cluster, s *subject.Subject) error {
	for until := time.Now().Add(time.Minute); time.Now().Before(until) &&
		ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		if err := s.Err(); err != nil {
			return err
		}
		if s.Kind == subject.Native {
			b, err := os.ReadFile(filepath.Join(c.Dir, "successor.log"))
			if err == nil && strings.Contains(string(b), "Attempting to acquire leader lease") {
				return nil
			}
			continue
		}
		if _, err := s.Get("/readyz", time.Second); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s doesn't stand by after a minute", s.Kind)
}
