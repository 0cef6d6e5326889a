package isolation

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/test/cluster"
)

// A guest that held up the process or another guest would do so for its whole deadline, seconds: the bounds leave room
// for a busy machine.
const (
	latencies    = 50
	slowdown     = 3
	allowance    = 50 * time.Millisecond
	heartbeatMax = 250 * time.Millisecond
	tries        = 8
)

// latency is how long namespaces waited for their service accounts, and how long the process stood still in the
// meantime.
type latency struct{ p50, p95, stall time.Duration }

func (l latency) String() string {
	return fmt.Sprintf("p50 %v, p95 %v, longest stall %v",
		l.p50.Round(10*time.Microsecond), l.p95.Round(10*time.Microsecond), l.stall.Round(10*time.Microsecond))
}

// measure creates namespaces one after another, and waits for the service account of each.
func measure(t *testing.T, client kubernetes.Interface, name string) latency {
	t.Helper()
	ctx := t.Context()
	list, err := client.CoreV1().ServiceAccounts("").List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}

	accounts, err := client.CoreV1().ServiceAccounts("").Watch(ctx,
		metav1.ListOptions{ResourceVersion: list.ResourceVersion, FieldSelector: "metadata.name=default"})
	if err != nil {
		t.Fatal(err)
	}

	defer accounts.Stop()
	stall := heartbeat(ctx)
	var all []time.Duration
	for i := range latencies {
		namespace := fmt.Sprintf("%s-%d", name, i)
		from := time.Now()
		if _, err := client.CoreV1().Namespaces().Create(ctx,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		late := time.After(cluster.Patience)
		for there := false; !there; {
			select {
			case e, ok := <-accounts.ResultChan():
				if !ok {
					t.Fatal("the watch ended")
				}
				a, ok := e.Object.(*corev1.ServiceAccount)
				there = ok && a.Namespace == namespace
			case <-late:
				t.Fatalf("namespace %s has no service account after %v", namespace, cluster.Patience)
			}
		}
		all = append(all, time.Since(from))
	}

	slices.Sort(all)
	return latency{all[len(all)/2], all[len(all)*95/100], stall()}
}

// heartbeat measures the longest time that a goroutine which is always ready could not run. It collects garbage
// meanwhile, for which every goroutine must stop: a guest that doesn't let itself be stopped stops all the others.
func heartbeat(ctx context.Context) (stop func() time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		for every := time.Tick(100 * time.Millisecond); ; {
			select {
			case <-ctx.Done():
				return
			case <-every:
				runtime.GC()
			}
		}
	})
	const beat = 5 * time.Millisecond
	var longest time.Duration
	running.Go(func() {
		for last := time.Now(); ctx.Err() == nil; {
			time.Sleep(beat)
			longest, last = max(longest, time.Since(last)-beat), time.Now()
		}
	})
	return func() time.Duration {
		cancel()
		running.Wait()
		return longest
	}
}
