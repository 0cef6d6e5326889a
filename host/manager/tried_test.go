package manager

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// However much fails, only the last failures are remembered, each once.
func TestTried(t *testing.T) {
	var x tried
	if x.get("0") != nil || x.reasons([]string{"0"}) != nil {
		t.Error("something has failed before anything was tried")
	}
	for i := range 3 * triedMost {
		x.add(fmt.Sprint(i), fmt.Errorf("failure %d", i))
	}
	last := fmt.Sprint(3*triedMost - 1)
	x.add(last, errors.New("again"))
	if len(x.errs) != triedMost || len(x.names) != triedMost {
		t.Errorf("%d are remembered: %q", len(x.errs), x.names)
	}
	all := x.reasons([]string{"0", last, last, fmt.Sprint(2 * triedMost)})
	if !slices.Equal(all, []string{"again", fmt.Sprint("failure ", 2*triedMost)}) {
		t.Errorf("what is said of three that were asked for: %q", all)
	}
	if x.get(last) == nil || x.get("0") != nil {
		t.Error("the last one should be remembered, the first one not")
	}
}
