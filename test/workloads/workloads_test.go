// Package workloads checks what only a cluster shows of the controllers that run Deployments.
package workloads

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

var controllers = []string{"deployment-controller", "replicaset-controller", "endpointslice-controller", "endpoints-controller", "serviceaccount-controller", "root-ca-certificate-publisher-controller"}

// scenarios are each run in a namespace of their own, first under Windlass, then under the native manager: what they assert holds of both, and what they leave behind
// is the same.
var scenarios = []scenario{
	{name: "rolling-update", run: rollingUpdate, steps: true},
	{name: "recreate", run: recreate},
	{name: "proportional-scaling", run: proportionalScaling},
	{name: "progress-deadline", run: progressDeadline},
	{name: "min-ready-seconds", run: minReadySeconds, steps: true},
	{name: "pause", run: pause, steps: true},
	{name: "rollback", run: rollback, steps: true},
	{name: "history-limit", run: historyLimit, steps: true},
	{name: "annotations", run: annotations},
	{name: "collision", run: collision},
	{name: "adopt-set", run: adoptSet},
	{name: "deleting-deployment", run: deletingDeployment},
	{name: "adopt-pods", run: adoptPods},
	{name: "deleting-set", run: deletingSet},
	{name: "sizes", run: sizes, steps: true},
	{name: "deletion-cost", run: deletionCost},
	{name: "terminating-replicas", run: terminatingReplicas},
	{name: "quota", run: quota, steps: true},
	{name: "quota-of-a-roll-out", run: quotaOfRollout, steps: true},
	{name: "accounts-and-bundles", run: accountsAndBundles},
	{name: "ending-namespace", run: endingNamespace, steps: true},
}

type scenario struct {
	name  string
	run   func(*space)
	steps bool // in how many steps it goes, and so how many events there are, is a matter of timing
}

// TestMain lets all scenarios run at a time: they wait far more than they compute.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "32"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func TestWorkloads(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 3, Audit: true})

	ours := &records{}
	m := windlass.Start(t, c, windlass.Options{Controllers: controllers})
	t.Run("windlass", func(t *testing.T) { ours.run(t, c) })
	m.Stop(t)
	t.Run("restart", func(t *testing.T) { restart(t, c) })
	windlass.ExpectRoles(t, c)

	theirs := &records{}
	stop := c.Native(t, controllers)
	t.Run("native", func(t *testing.T) { theirs.run(t, c) })
	stop()

	t.Run("same", func(t *testing.T) {
		for _, s := range scenarios {
			t.Run(s.name, func(t *testing.T) {
				want, got := theirs.of(s.name), ours.of(s.name)
				if want == nil || got == nil {
					t.Fatal("there is nothing to compare: it failed above")
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("native (-) and Windlass (+) differ:\n%s", diff)
				}
			})
		}
	})
}

// records are what the scenarios have left behind under one manager.
type records struct {
	lock sync.Mutex
	all  map[string][]string
}

func (r *records) of(name string) []string {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.all[name]
}

// run runs all scenarios at once. What they leave behind is recorded when all have ended, and their events are there.
func (r *records) run(t *testing.T, c *cluster.Cluster) {
	manager := t.Name()[strings.LastIndexByte(t.Name(), '/')+1:]
	var running sync.WaitGroup
	settle := sync.OnceFunc(func() {
		running.Wait()
		settle(t, c)
	})
	for _, x := range scenarios {
		t.Run(x.name, func(t *testing.T) {
			running.Add(1)
			ended := sync.OnceFunc(running.Done)
			t.Cleanup(ended)
			t.Parallel()
			s := newSpace(t, c, x.name+"-"+manager)
			s.native = manager == "native"
			begun := time.Now()
			x.run(s)
			t.Logf("%.1f s", time.Since(begun).Seconds())
			ended()
			settle()
			record := s.record(x.steps)
			r.lock.Lock()
			defer r.lock.Unlock()
			if r.all == nil {
				r.all = map[string][]string{}
			}
			r.all[x.name] = record
		})
	}
}

// settle waits until there are no new events. They come late: each controller sends them one by one.
func settle(t *testing.T, c *cluster.Cluster) {
	client, last, since := c.Client(), "", time.Now()
	windlass.Eventually(t, patience, "the last event", func() (bool, string) {
		l, err := client.CoreV1().Events("").List(context.WithoutCancel(t.Context()), metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		times := int32(0)
		for _, e := range l.Items {
			times += e.Count
		}
		now := fmt.Sprintf("%d events, %d times", len(l.Items), times)
		if now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > quiet, now
	})
}

// patience is far more than anything takes here, for machines on which many tests run at once.
const patience = 2 * time.Minute
