package windlass

import (
	"io"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/cluster"
)

// Killer runs the program again and again on a cluster, and kills it with SIGKILL at random moments: a quarter of the
// processes while they start, so however slow the machine is, most get to work.
type Killer struct {
	Cluster     *cluster.Cluster
	Controllers []string
	Seed        uint64
	Start       time.Duration // from its first moment on a process lives for so long at most
	Work        time.Duration // or for so long after all its caches are filled

	Kills    int // so far
	Starting int // those of them that came before all caches were filled

	random  *rand.Rand
	process *Process
	begun   time.Time
	end     time.Time
}

// Until has processes live and die until the condition holds, which is looked at every so often. The last process lives
// on: it is killed, if its time has come, by the next call.
func (k *Killer) Until(t testing.TB, every, within time.Duration, what string,
	condition func() (done bool, seen string)) {
	t.Helper()
	within = max(within, cluster.Patience)
	for from := time.Now(); ; {
		k.ensureRunning(t)
		done, seen := waitUntil(k.end, every, condition)
		if done {
			return
		}
		k.killProcess(t, seen)
		if time.Since(from) > within {
			t.Fatalf("%s: not within %v, killed %d times (seed %d); seen last: %s", what, within, k.Kills, k.Seed, seen)
		}
	}
}

// ensureRunning starts a process if there is none.
func (k *Killer) ensureRunning(t testing.TB) {
	if k.process != nil {
		return
	}
	if k.random == nil {
		k.random = rand.New(rand.NewPCG(k.Seed, k.Seed))
	}
	starting, fraction := k.random.IntN(4) == 0, k.random.Float64()
	k.process, k.begun = Spawn(t, k.Cluster, k.Controllers...), time.Now()
	life := k.Start
	if !starting {
		k.process.AwaitReady(t)
		life = k.Work
	}
	k.end = time.Now().Add(time.Duration(fraction * float64(life)))
}

func (k *Killer) killProcess(t testing.TB, seen string) {
	t.Helper()
	when := "at work"
	if ready, _ := k.process.Ready(); !ready {
		when = "while it started"
		k.Starting++
	}
	k.process.Kill(t)
	k.Kills++
	if seen == "" {
		seen = "at rest"
	}
	t.Logf("kill %d: process %d after %v, %s: %s", k.Kills, k.process.PID, time.Since(k.begun).Round(time.Millisecond),
		when, seen)
	k.process = nil
}

// Stop ends the process that lives, if one does, in peace.
func (k *Killer) Stop(t testing.TB) {
	t.Helper()
	if k.process != nil {
		k.process.Stop(t)
		k.process = nil
	}
}

// AwaitReady waits until all controllers have their caches.
func (p *Process) AwaitReady(t testing.TB) {
	t.Helper()
	const most = 2 * cluster.Patience / 3 // the log is told before EventuallyEvery gives up
	end := time.Now().Add(most)
	cluster.Poll(t, 20*time.Millisecond, cluster.Patience, "windlass is ready", func() (bool, string) {
		ready, seen := p.Ready()
		select {
		case <-p.ended:
			t.Fatalf("windlass (process %d) ended before it was ready: %v\n%s", p.PID, p.err, cluster.Tail(p.log))
		default:
		}
		if !ready && time.Now().After(end) {
			t.Fatalf("windlass (process %d) is not ready after %v: %s\n%s", p.PID, most, seen, cluster.Tail(p.log))
		}
		return ready, seen
	})
}

// Ready reports whether all controllers have their caches, and what is said of each.
func (p *Process) Ready() (ready bool, seen string) {
	client := *p.Client
	client.Timeout = 10 * time.Second // not ready is answered at once; a process that hangs is asked again
	r, err := client.Get(p.URL("/readyz?verbose"))
	if err != nil {
		return false, err.Error()
	}
	defer r.Body.Close()
	b, _ := io.ReadAll(r.Body)
	return r.StatusCode == http.StatusOK, string(b)
}

// waitUntil looks at a condition until an hour has come.
func waitUntil(hour time.Time, every time.Duration, condition func() (bool, string)) (done bool, seen string) {
	end := time.After(time.Until(hour))
	for tick := time.Tick(every); ; {
		select {
		case <-end:
			return false, seen
		default:
		}
		if done, seen = condition(); done {
			return done, seen
		}
		select {
		case <-end:
			return done, seen
		case <-tick:
		}
	}
}
