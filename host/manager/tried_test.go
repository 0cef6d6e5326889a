package manager

import (
	"errors"
	"fmt"
	"testing"
)

// However much fails, only the last failures are remembered, each once.
func TestTried(t *testing.T) {
	var x tried
	if x.get("0") != nil || x.said() != nil {
		t.Error("something has failed before anything was tried")
	}
	for i := range 3 * triedMost {
		x.add(fmt.Sprint(i), fmt.Errorf("failure %d", i))
	}
	last := fmt.Sprint(3*triedMost - 1)
	x.add(last, errors.New("again"))
	all := x.said()
	if len(all) != triedMost || len(x.errs) != triedMost || all[0] != fmt.Sprint("failure ", 2*triedMost) || all[triedMost-1] != "again" {
		t.Errorf("%d are remembered: %q", len(all), all)
	}
	if x.get(last) == nil || x.get("0") != nil {
		t.Error("the last one should be remembered, the first one not")
	}
}
