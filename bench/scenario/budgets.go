package scenario

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// perBudget is how many pods a budget has.
const perBudget = 10

var budgets = &Scenario{
	Name: "budgets", Base: empty, Named: true,
	Title: titleWithNumbers("%d disruption budgets of 10 pods each, readiness flips at 20 a second for %d s", 300, 300,
		60, 20),
	Setup: func(ctx context.Context, w *World) error {
		const n = 300
		if err := w.namespace(ctx, "budgets"); err != nil {
			return err
		}
		prototype, err := w.prototype(ctx, "budgets", "budgets", nil)
		if err != nil {
			return err
		}
		for i := range n {
			p, name := *prototype, fmt.Sprint("budget-", i)
			p.Labels = maps.Clone(p.Labels)
			p.Labels["app"] = name
			if err := w.createClones(ctx, &p, i*perBudget, perBudget, few); err != nil {
				return err
			}
			least := intstr.FromInt32(perBudget - 1)
			_, err := w.Client.PolicyV1().PodDisruptionBudgets("budgets").Create(ctx,
				&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name},
					Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &least,
						Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}}}, metav1.CreateOptions{})
			if err != nil {
				return err
			}
		}
		return w.awaitHealthy(ctx)
	},
	Act: func(ctx context.Context, w *World) error {
		list, err := w.Client.CoreV1().Pods("budgets").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		n := w.Size(60, 20) * flipsPerSecond
		tick := time.NewTicker(time.Second / flipsPerSecond)
		defer tick.Stop()
		var flipping sync.WaitGroup
		errs := make([]error, n)
		for i := range n {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
			// Of one budget after the other a pod goes, and they come back once half of the flips are over.
			at := i % (n / 2)
			p, ready := list.Items[(at*perBudget+at/300)%len(list.Items)].Name, i >= n/2
			flipping.Go(func() { errs[i] = w.setReady(ctx, "budgets", p, ready) })
		}
		flipping.Wait()
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		w.Events = n
		return w.awaitHealthy(ctx)
	},
}

// awaitHealthy waits until all budgets know that all of their pods are healthy.
func (w *World) awaitHealthy(ctx context.Context) error {
	return w.pollUntil(ctx, 200*time.Millisecond, "all budgets know that their pods are healthy", func() (bool, string,
		error) {
		l, err := w.Client.PolicyV1().PodDisruptionBudgets("budgets").List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, "", err
		}
		missing := 0
		for i := range l.Items {
			if s := &l.Items[i].Status; s.CurrentHealthy != perBudget || s.DisruptionsAllowed != 1 {
				missing++
			}
		}
		return missing == 0, fmt.Sprint(missing, " don't"), nil
	})
}
