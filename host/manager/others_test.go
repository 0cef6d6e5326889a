package manager

import (
	"testing"

	"github.com/windlass-dev/windlass/config"
)

// Who runs beside another manager, as plugin new proposes, isn't told of objects that the other one handles.
func TestOthersAreLeftAlone(t *testing.T) {
	for _, x := range []struct {
		controllers []string
		elects      bool
		lease       string
		leaves      bool
	}{
		{[]string{"hello-controller"}, true, "windlass-hello", true},
		{[]string{"*", "-job"}, true, "windlass-hello", false},
		{[]string{"hello-controller"}, true, "kube-controller-manager", false},
		{[]string{"hello-controller"}, false, "windlass-hello", false},
	} {
		c := config.Default()
		c.Controllers, c.LeaderElection.LeaderElect, c.LeaderElection.ResourceName = x.controllers, x.elects, x.lease
		if got := leavesOthers(c); got != x.leaves {
			t.Errorf("%q under %s, election %v: %v", x.controllers, x.lease, x.elects, got)
		}
	}
}
