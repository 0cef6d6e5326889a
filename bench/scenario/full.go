package scenario

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// loaded is a cluster with many realistic pods.
var loaded = &Base{
	Name: "pods", Nodes: func(full bool) int { return nodesFor(sizeOfForm(full, 50000, 10000)) },
	Prepare: func(ctx context.Context, w *World) error { return w.fillCluster(ctx, w.Size(50000, 10000)) },
}

var (
	startLoaded = &Scenario{Name: "start-pods", Base: loaded, Start: true,
		Title: titleWithNumbers("start with %d pods in the cluster", 50000, 10000)}
	idleLoaded = &Scenario{Name: "idle-pods", Base: loaded,
		Title: titleWithNumbers("idle with %d realistic pods in the cache", 50000, 10000), Setup: awaitCalm, Act: stayIdle}
)

// Grown are the numbers of pods at which growth is measured.
var Grown = []int{1000, 10000, 100000}

// GrowthName is the scenario of so many pods.
func GrowthName(pods int) string { return fmt.Sprint("growth-", pods) }

// growthScenario measures memory, processor time per event and the time of a sync beside so many pods: the readiness of
// some pods of one replica set of 500 flips.
func growthScenario(pods int) *Scenario {
	return &Scenario{
		Name: GrowthName(pods), Full: true, Title: func(bool) string {
			return fmt.Sprintf("1,000 flips of readiness beside %d pods", pods)
		},
		Base: &Base{Name: fmt.Sprint("pods-", pods), Nodes: func(bool) int {
			return nodesFor(pods)
		}, Prepare: func(ctx context.Context, w *World) error { return w.fillCluster(ctx, pods) }},
		Setup: awaitCalm,
		Act: func(ctx context.Context, w *World) error {
			names, err := w.podNames(ctx, namespaceName("load", 0))
			if err != nil {
				return err
			}
			w.Events = 1000
			for _, ready := range []bool{false, true} {
				if err := parallel(ctx, 500, 8, func(ctx context.Context, i int) error {
					return w.setReady(ctx, namespaceName("load", 0), names[i%len(names)], ready)
				}); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// podNames returns the names of a namespace's pods.
func (w *World) podNames(ctx context.Context, namespace string) ([]string, error) {
	list, err := w.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return names, nil
}
