package golden

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/host/cache"
)

// used is what a sync has met of that in a case which waits to be asked for.
type used struct {
	failures []int // how many effects each matched
	reads    map[string]bool
	live     map[*cache.Object]bool
	facts    bool // those of another namespace may be there to be left out
	scales   []bool
	allowed  map[string]bool
}

func newUsed(c *Case) used {
	return used{
		failures: make([]int, len(c.Failures)),
		reads:    map[string]bool{},
		live:     map[*cache.Object]bool{},
		scales:   make([]bool, len(c.Scales)),
		allowed:  map[string]bool{},
	}
}

// checkUnused returns an error that names each entry of the case that the sync hasn't met: the case doesn't test what
// it seems to.
func (h *host) checkUnused() error {
	var all []string
	for i := range h.c.Failures {
		switch f := &h.c.Failures[i]; {
		case h.used.failures[i] == 0:
			all = append(all, fmt.Sprintf("failures[%d] (%s): there was no such effect", i, f))
		case h.used.failures[i] <= f.After:
			all = append(all, fmt.Sprintf("failures[%d] (%s): there were only %d such effects, and it begins after %d",
				i, f, h.used.failures[i], f.After))
		}
	}
	for i, o := range h.live {
		if !h.used.live[o] {
			all = append(all, fmt.Sprintf("live[%d] (%s %s): it wasn't read", i, o.Resource.Kind, o.Name))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(h.c.Reads)) {
		if !h.used.reads[path] {
			all = append(all, fmt.Sprintf("reads[%s]: the path wasn't read", path))
		}
	}
	for i := range h.scales {
		if !h.used.scales[i] {
			all = append(all, fmt.Sprintf("scales[%d] (%s): it wasn't asked for", i, h.scales[i].Of))
		}
	}
	for i, what := range h.c.Allowed {
		if !h.used.allowed[what] {
			all = append(all, fmt.Sprintf("allowed[%d] (%s): no review asked for it", i, what))
		}
	}
	if len(h.c.Facts) > 0 && !h.used.facts {
		all = append(all, "facts: none were asked for")
	}

	if len(all) == 0 {
		return nil
	}

	return fmt.Errorf("the sync didn't use these parts of the case: correct or remove them\n  %s",
		strings.Join(all, "\n  "))
}
