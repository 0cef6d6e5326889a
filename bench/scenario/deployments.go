package scenario

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var scale = &Scenario{
	Name: "scale", Base: empty, Title: titleWithNumbers("%d Deployments 0 → %d → 0", 20, 4, 500, 50),
	Setup: func(ctx context.Context, w *World) error { return w.deployments(ctx, "scale", w.Size(20, 4), 0) },
	Act: func(ctx context.Context, w *World) error {
		n := w.Size(20, 4)
		for _, replicas := range []int{w.Size(500, 50), 0} {
			if err := w.addWallTime(func() error {
				from := time.Now()
				if err := w.patchDeployments(ctx, "scale", n, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)); err != nil {
					return err
				}
				if err := w.settled(ctx, "scale", n, replicas, false); err != nil {
					return err
				}
				w.Made += time.Since(from)
				// Where the machine is busy, how soon pods are made goes by how many are bound meanwhile: what is quick in the one
				// is slow in the other.
				return w.settled(ctx, "scale", n, replicas, true)
			}); err != nil {
				return err
			}
		}
		return w.forEach(n, func(i int) error { return w.awaitPods(ctx, namespaceName("scale", i), 0) })
	},
}

var rolling = &Scenario{
	Name: "rolling", Base: empty, Title: titleWithNumbers("rolling update of %d Deployments of %d", 50, 6, 20, 10),
	Setup: func(ctx context.Context, w *World) error {
		n, replicas := w.Size(50, 6), w.Size(20, 10)
		if err := w.deployments(ctx, "rolling", n, replicas); err != nil {
			return err
		}
		return w.settled(ctx, "rolling", n, replicas, true)
	},
	Act: func(ctx context.Context, w *World) error {
		n, replicas := w.Size(50, 6), w.Size(20, 10)
		return w.addWallTime(func() error {
			if err := w.patchDeployments(ctx, "rolling", n,
				`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"web:2"}]}}}}`); err != nil {
				return err
			}
			return w.settled(ctx, "rolling", n, replicas, true)
		})
	},
}

// namespaceName returns the name of the namespace of one of many: each has its own, so that the audit log tells whose a
// write is.
func namespaceName(scenario string, i int) string { return fmt.Sprintf("%s-%d", scenario, i) }

func (w *World) forEach(n int, f func(i int) error) error {
	for i := range n {
		if err := f(i); err != nil {
			return err
		}
	}
	return nil
}

// deployments makes n Deployments.
func (w *World) deployments(ctx context.Context, scenario string, n, replicas int) error {
	return parallel(ctx, n, 16, func(ctx context.Context, i int) error {
		if err := w.namespace(ctx, namespaceName(scenario, i)); err != nil {
			return err
		}
		_, err := w.Client.AppsV1().Deployments(namespaceName(scenario, i)).Create(ctx, deployment(scenario, replicas),
			metav1.CreateOptions{})
		return err
	})
}

func (w *World) patchDeployments(ctx context.Context, scenario string, n int, body string) error {
	return parallel(ctx, n, 16, func(ctx context.Context, i int) error {
		_, err := w.Client.AppsV1().Deployments(namespaceName(scenario, i)).Patch(ctx, scenario,
			types.StrategicMergePatchType,
			[]byte(body), metav1.PatchOptions{})
		return err
	})
}

// settled waits until all Deployments of a scenario have what they want; ready asks for available pods too.
func (w *World) settled(ctx context.Context, scenario string, n, replicas int, ready bool) error {
	want := int32(replicas)
	return watchUntil(ctx, w, w.Client.AppsV1().RESTClient(), "deployments", "", &appsv1.Deployment{},
		fmt.Sprintf("%d Deployments of %d", n, replicas), func(all []*appsv1.Deployment) (bool, string) {
			done := 0
			for _, d := range all {
				s := d.Status
				if d.Name == scenario && s.ObservedGeneration == d.Generation && s.Replicas == want && s.UpdatedReplicas == want &&
					(!ready || s.AvailableReplicas == want) {
					done++
				}
			}
			return done == n, fmt.Sprint(done, " of ", n)
		})
}
