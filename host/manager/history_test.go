package manager

import (
	"errors"
	"fmt"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/state"
)

// The last so many swaps are kept, and a trial's end is that of the plugin's last swap.
func TestHistory(t *testing.T) {
	var h history
	for i := range historyMost + 5 {
		h.add(fmt.Sprint("p", i), state.SwapAdded, nil, nil, nil)
	}
	h.add("a", state.SwapOnTrial, nil, nil, nil)
	h.add("b", state.SwapOnTrial, nil, nil, nil)
	h.noteTrialEnd("a", state.SwapRolledBack, fmt.Errorf("it trapped"))
	all := h.newestFirst()
	if len(all) != historyMost || all[0].Plugin != "b" || all[0].Result != state.SwapOnTrial ||
		all[1].Result != state.SwapRolledBack || all[1].Why != "it trapped" || all[1].Ended.IsZero() {
		t.Errorf("%d: %+v", len(all), all[:2])
	}
	h.noteTrialEnd("nobody", state.SwapOK, nil)

	runs := &choice{Found: plugins.Found{Plugin: &plugins.Plugin{Digest: "sha256:ab"},
		Manifest: &abi.Manifest{Version: "1"}}}
	h.addFailure("a", runs, errors.New("truncated"), false)
	h.addFailure("a", runs, errors.New("still truncated"), true)
	if all = h.newestFirst(); all[0].Result != state.SwapFailed || all[0].From != "sha256:ab" ||
		all[0].Why != "still truncated" || all[1].Plugin != "b" {
		t.Errorf("a file that is being copied should be one entry: %+v", all[:2])
	}
	h.addFailure("a", runs, errors.New("truncated"), false)
	if all = h.newestFirst(); all[0].Why != "truncated" || all[1].Why != "still truncated" {
		t.Errorf("what is broken again should be told again: %+v", all[:2])
	}
}
