// Package scale has either manager work on many objects, mostly to measure how long that takes.
package scale

import (
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

const namespace = "default"

// account is a controller's user.
func account(name string) string { return "system:serviceaccount:kube-system:" + name }

// withAccounts returns a controller, and that of the accounts that its pods want.
func withAccounts(controller string) []string {
	return []string{"serviceaccount-controller", controller}
}

// work is an object that a controller brings to its end.
type work struct {
	controller, unit string
	create           func(name string) error
	done             func(name string) (bool, string)
	// writes are the requests on the way that are counted, by the name of the count.
	writes map[string]cluster.Filter
}

// measureWork measures, for either manager in turn, how long the work takes, and what is written on the way.
func measureWork(b *testing.B, c *cluster.Cluster, w work) {
	run := func(b *testing.B, name string) {
		windlass.Account(b, c.Client(), namespace)
		for b.Loop() {
			begun := time.Now()
			if err := w.create(name); err != nil {
				b.Fatal(err)
			}
			cluster.Eventually(b, 10*time.Minute, name+" is complete", func() (bool, string) { return w.done(name) })
			b.ReportMetric(time.Since(begun).Seconds(), w.unit)
			for what, f := range w.writes {
				f.Users, f.Since = []string{account(w.controller)}, begun
				b.ReportMetric(float64(len(c.Audit(b, f))), what)
			}
		}
	}
	windlass.InTurn(b, c, w.controller, withAccounts(w.controller), run)
}
