package surroundings

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/plugins/builtin"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/life"
	"github.com/windlass-dev/windlass/test/windlass"
)

// times are how long calm work takes: a Deployment's pods to be made, and to be gone after each way of deletion.
type times struct{ made, background, foreground time.Duration }

// compareTimes has the native manager and Windlass, one after the other, work in each of the surroundings that both can
// be in. What is elsewhere takes Windlass three times as long at most, the best of several.
func compareTimes(t *testing.T, surroundings []surrounding) {
	t.Parallel()
	for _, s := range surroundings {
		if !s.common {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			places <- struct{}{}
			defer func() { <-places }()
			var native, ours times
			t.Run("native", func(t *testing.T) {
				native = timesIn(t, &s, func(w *world) { w.cluster.Native(t, builtin.Names()) })
			})
			t.Run("windlass", func(t *testing.T) {
				ours = timesIn(t, &s, func(w *world) {
					w.manager = windlass.Start(t, w.cluster, windlass.Options{Controllers: builtin.Names()})
				})
			})
			t.Logf("natively %+v, here %+v", native, ours)

			const most = 3
			for what, x := range map[string][2]time.Duration{"pods are made": {native.made, ours.made},
				"background deletion": {native.background, ours.background},
				"foreground deletion": {native.foreground, ours.foreground}} {
				if x[1] > most*x[0] {
					t.Errorf("%s: %v, natively %v", what, x[1], x[0])
				}
			}
		})
	}
}

// timesIn measures calm work while a surrounding lasts and many keys meet it.
func timesIn(t *testing.T, s *surrounding, start func(*world)) times {
	c := cluster.Start(t, cluster.Options{Nodes: 3})
	w := &world{T: t, cluster: c, stage: life.NewStage(t, c)}
	start(w)
	for _, namespace := range []string{calm, restless} {
		w.stage.Namespace(t, namespace)
		windlass.Account(t, w.stage.Client, namespace)
	}
	defer s.begin(t, w)(t)
	w.workRestlessly(t, s)

	best := times{made: time.Hour, background: time.Hour, foreground: time.Hour}
	for i := range 8 {
		deletion, of := metav1.DeletePropagationBackground, &best.background
		if i%2 == 1 {
			deletion, of = metav1.DeletePropagationForeground, &best.foreground
		}
		made, gone := w.workCalmly(t, fmt.Sprint("calm-", i), deletion)
		best.made, *of = min(best.made, made), min(*of, gone)
	}
	return best
}
