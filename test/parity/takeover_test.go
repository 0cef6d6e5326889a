package parity

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// takeover has each manager take over the cluster on which the other one has brought all lives to rest. It has
// nothing to write there: whatever one of them has left, the other one would have left just so.
func takeover(t *testing.T, b *book, all []*part, native, ours *side, controllers []string,
	settings map[string]map[string]string) {
	sides := []*side{native, ours}
	since := time.Now()
	for i, s := range sides {
		other := sides[1-i]
		start := s.startNative
		if other.name != native.name {
			start = s.startOurs
		}
		s.manager = start(t, controllers, settings, false)
	}

	for i, s := range sides {
		s.waitForRest(t)
		t.Run("takeover-by-"+sides[1-i].name, func(t *testing.T) {
			atWork := false
			for _, e := range s.listWrites(t, since) {
				account := strings.HasPrefix(e.User, "system:serviceaccount:kube-system:")
				probe := strings.HasPrefix(e.Namespace, probes)
				atWork = atWork || account && probe
				if account && !probe {
					by := "takeover by " + sides[1-i].name
					b.addDifference(all, fmt.Sprint(by, e.User, e.Verb, e.Resource, e.Namespace), "%s: it wrote: %v", by, e)
				}
			}
			if !atWork {
				t.Error("it has done nothing at all, so that there is nothing to see")
			}
		})
		s.manager.stop()
	}
}
