package manager

import (
	"slices"
	"sync"
	"time"
)

// How a swap ended.
const (
	swapTrial        = "on trial" // it may still be rolled back
	swapOK           = "ok"
	swapRolledBack   = "rolled back"
	swapStays        = "stays"  // it has failed its trial, but there is nothing to fall back on
	swapFailed       = "failed" // what ran before goes on
	swapReconfigured = "reconfigured"
	swapAdded        = "added"
	swapRemoved      = "removed"
)

// Swap is one replacement of a plugin's version, or an attempt at one.
type Swap struct {
	Time   time.Time `json:"time"`
	Plugin string    `json:"plugin"`
	// Result is one of: on trial, ok, rolled back, stays (it failed its trial, but there is nothing to fall back on), failed (what ran before goes on), reconfigured, added, removed.
	Result string `json:"result"`
	// From and To are digests, To is empty where the plugin's file couldn't be used; FromVersion and ToVersion are what the modules call themselves.
	From        string `json:"from,omitempty"`
	To          string `json:"to,omitempty"`
	FromVersion string `json:"fromVersion,omitempty"`
	ToVersion   string `json:"toVersion,omitempty"`
	// Why says what was wrong, Ended when the trial was over.
	Why   string    `json:"why,omitempty"`
	Ended time.Time `json:"ended,omitzero"`
}

// historyMost is how many swaps are remembered of all plugins together.
const historyMost = 100

// history is what became of the plugins' versions, since the process began.
type history struct {
	mu    sync.Mutex
	swaps []Swap // the newest last
}

func (h *history) add(plugin, result string, from, to *choice, why error) {
	s := Swap{Time: time.Now(), Plugin: plugin, Result: result}
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
func (h *history) append(s Swap) {
	if len(h.swaps) == historyMost {
		h.swaps = slices.Delete(h.swaps, 0, 1)
	}
	h.swaps = append(h.swaps, s)
}

// failed notes that a plugin's file can't be used. While that goes on with other causes, as when a file is being copied, it is one entry.
func (h *history) failed(plugin string, runs *choice, why error, again bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(h.swaps) - 1; again && i >= 0; i-- {
		if s := &h.swaps[i]; s.Plugin == plugin && s.Result == swapFailed && s.To == "" {
			s.Why = why.Error()
			return
		}
	}
	h.append(Swap{Time: time.Now(), Plugin: plugin, Result: swapFailed, From: runs.Digest, FromVersion: runs.Manifest.Version, Why: why.Error()})
}

// ended notes how the trial of a plugin's last swap ended.
func (h *history) ended(plugin, result string, why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(h.swaps) - 1; i >= 0; i-- {
		s := &h.swaps[i]
		if s.Plugin != plugin || s.Result != swapTrial {
			continue
		}
		s.Result, s.Ended = result, time.Now()
		if why != nil {
			s.Why = why.Error()
		}
		return
	}
}

// all gives the swaps, the newest first.
func (h *history) all() []Swap {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := append([]Swap{}, h.swaps...)
	slices.Reverse(all)
	return all
}
