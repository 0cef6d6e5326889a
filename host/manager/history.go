package manager

import (
	"slices"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/host/state"
)

// historyMost is how many swaps are remembered of all plugins together.
const historyMost = 100

// history is what became of the plugins' versions, since the process began.
type history struct {
	mu    sync.Mutex
	swaps []state.Swap // the newest last
}

func (h *history) add(plugin, result string, from, to *choice, why error) {
	s := state.Swap{Time: time.Now(), Plugin: plugin, Result: result}
	if from != nil {
		s.From, s.FromVersion = from.Digest, from.Manifest.Version
	}
	if to != nil {
		s.To, s.ToVersion = to.Digest, to.Manifest.Version
	}
	if why != nil {
		s.Why = why.Error()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.append(s)
}

// append adds an entry; the lock is held.
func (h *history) append(s state.Swap) {
	if len(h.swaps) == historyMost {
		h.swaps = slices.Delete(h.swaps, 0, 1)
	}
	h.swaps = append(h.swaps, s)
}

// addFailure notes that a plugin's file can't be used. While that goes on with other causes, as when a file is being
// copied, it is one entry.
func (h *history) addFailure(plugin string, runs *choice, why error, again bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(h.swaps) - 1; again && i >= 0; i-- {
		if s := &h.swaps[i]; s.Plugin == plugin && s.Result == state.SwapFailed && s.To == "" {
			s.Why = why.Error()
			return
		}
	}
	h.append(state.Swap{Time: time.Now(), Plugin: plugin, Result: state.SwapFailed, From: runs.Digest,
		FromVersion: runs.Manifest.Version, Why: why.Error()})
}

// noteTrialEnd notes how the trial of a plugin's last swap ended.
func (h *history) noteTrialEnd(plugin, result string, why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(h.swaps) - 1; i >= 0; i-- {
		s := &h.swaps[i]
		if s.Plugin != plugin || s.Result != state.SwapOnTrial {
			continue
		}
		s.Result, s.Ended = result, time.Now()
		if why != nil {
			s.Why = why.Error()
		}
		return
	}
}

// newestFirst returns the swaps, the newest first.
func (h *history) newestFirst() []state.Swap {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := append([]state.Swap{}, h.swaps...)
	slices.Reverse(all)
	return all
}
