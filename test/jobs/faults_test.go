package jobs

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/faults"
	"github.com/windlass-dev/windlass/test/windlass"
)

// A bad network and a slow cache don't make a job count a pod twice or forget one, or make more pods than it needs.
func TestFaults(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 3})
	f := &faults.Faults{}
	f.After, f.Before = oneIn(20, 1), oneIn(20, 2)
	f.WatchDelay.Store(int64(300 * time.Millisecond))
	windlass.Start(t, c, windlass.Options{Controllers: controllers, Wrap: f.Wrap})
	w := &world{t, c.Client()}
	windlass.Account(t, w.client, namespace)
	const n = 100
	w.create("indexed", false, func(s *batchv1.JobSpec) { indexed(s); s.Completions, s.Parallelism = to(int32(n)), to(int32(25)) })
	w.create("plain", false, func(s *batchv1.JobSpec) { s.Completions, s.Parallelism = to(int32(n)), to(int32(25)) })
	many := w.awaitComplete("indexed")
	w.expectCounted(many, n, 0)
	w.expectIndexes(many)
	w.expectCounted(w.awaitComplete("plain"), n, 0)
	if p := w.pods("plain"); len(p) != n {
		t.Errorf("%d pods, want %d", len(p), n)
	}
	if lost := f.Lost.Load(); lost < 20 {
		t.Errorf("only %d requests were lost: the test tests nothing", lost)
	}
}

// oneIn chooses one request in n by chance.
func oneIn(n int, seed uint64) func(*http.Request) bool {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, seed))
	return func(*http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		return r.IntN(n) == 0
	}
}
