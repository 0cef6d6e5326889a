package scenario

import "context"

// All are the scenarios, in the order in which those of one base run.
var All = []*Scenario{
	startEmpty, idleEmpty, scale, rolling, flips, job, cascade, autoscalers,
	cronJobs, mirrored, finished,
	heartbeats, daemons, budgets, requests, quota,
	startLoaded, idleLoaded,
	growthScenario(Grown[0]), growthScenario(Grown[1]), growthScenario(Grown[2]),
}

// few is how many nodes a cluster has that is about pods.
const few = 10

// empty has nothing but what each base has.
var empty = &Base{Name: "empty", Nodes: func(bool) int { return few }}

// Make makes the base's objects, and what all bases have. No manager runs meanwhile.
func (b *Base) Make(ctx context.Context, w *World) error {
	if err := w.createNamespace(ctx, ready); err != nil {
		return err
	}
	if b.Prepare == nil {
		return nil
	}
	return b.Prepare(ctx, w)
}
