package chaos

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/ledger"
	"github.com/windlass-dev/windlass/test/state"
	"github.com/windlass-dev/windlass/test/windlass"
)

// work is how long a process lives at most when all its caches are filled.
const work = 1500 * time.Millisecond

// The process is killed at random moments, from its first on, while all kinds of workloads are rolled out, back, over,
// scaled and deleted. Each step ends as it does undisturbed, and at no revision is there a pod too many.
func TestRandomMoments(t *testing.T) {
	t.Parallel()
	from := time.Now()
	w := newWorld(t)
	all, least := steps, *kills
	if *kills == 0 {
		all, least = steps[:2], 6
	}
	begun := time.Now()
	p := windlass.Spawn(t, w.c, controllers...)
	p.AwaitReady(t)
	start := time.Since(begun)

	const calm = "undisturbed"
	w.namespace(calm)
	windlass.Account(t, w.client, calm)
	l := ledger.Keep(t, w.client, calm)
	var want []state.State
	for i, s := range all {
		s.do(&user{w, calm})
		var now state.State
		if s.until != nil {
			cluster.Eventually(t, patience, s.name, func() (bool, string) { return s.until(w, t.Context(), calm) })
		} else {
			now = w.undisturbed(calm)
			l.Rest(t)
		}
		want = append(want, now)
		if i == 0 {
			w.c.OwnPodsOnly(t, calm)
		}
	}
	p.Stop(t)
	undisturbed := l.End(t)
	t.Logf("%5.1f s: undisturbed: %d pods made, a Deployment had at most %d that were yet to be deleted; windlass starts within %v", time.Since(from).Seconds(), undisturbed.Made, max(undisturbed.Lag, 0), start.Round(time.Millisecond))

	k := &windlass.Killer{Cluster: w.c, Controllers: controllers, Seed: *seed, Start: start, Work: work}
	if k.Seed == 0 {
		k.Seed = uint64(time.Now().Unix())
	}
	t.Logf("seed %d: one process in four is killed within %v of its start, the others within %v of being ready", k.Seed,
		start.Round(time.Millisecond), work)
	phases := map[string]int{}
	made, lag, rounds := 0, 0, 0
	for k.Kills < least {
		namespace := fmt.Sprint("killed-", rounds)
		rounds++
		l := ledger.Keep(t, w.client, namespace)
		w.namespace(namespace)
		k.Until(t, glance, patience, "service account", func() (bool, string) { return w.account(namespace) })
		for i, s := range all {
			before := k.Kills
			s.do(&user{w, namespace})
			if s.until != nil {
				k.Until(t, glance, patience, s.name, func() (bool, string) { return s.until(w, t.Context(), namespace) })
			} else {
				w.killedUntil(k, namespace, s.name, want[i])
				l.Rest(t)
			}
			phases[s.name] += k.Kills - before
		}
		seen := l.End(t)
		made, lag = made+seen.Made, max(lag, seen.Lag)
		if got, least := certain(seen), certain(undisturbed); got < least {
			t.Errorf("%s: the ledger has %d pods, undisturbed there were %d", namespace, got, least)
		}
	}
	k.Stop(t)
	maps.DeleteFunc(phases, func(_ string, n int) bool { return n == 0 })
	t.Logf("killed %d times in %d rounds (seed %d), %d of them before all caches were filled; during %s; %d pods made, %d in each round undisturbed, none too many; a Deployment had at most %d that were yet to be deleted; %.0f s",
		k.Kills, rounds, k.Seed, k.Starting, formatCounts(phases), made, undisturbed.Made, max(lag, 0),
		time.Since(from).Seconds())
}

// certain is how many pods were made of those that must be. A roll-out is taken back once it has made its first pod,
// and how many more it has made by then is a matter of moments.
func certain(s ledger.Seen) int { return s.Made - s.Images[takenBack] }
