package state

import "time"

// PluginStatus is what is known of a plugin that runs here.
type PluginStatus struct {
	Name        string    `json:"name"`
	Version     string    `json:"version"`
	Digest      string    `json:"digest"`
	Origin      string    `json:"origin"`
	Since       time.Time `json:"since"`
	Controllers []string  `json:"controllers"`
	// Trial tells that the version may still be rolled back to Before.
	Trial  bool   `json:"trial,omitempty"`
	Before string `json:"before,omitempty"`
	// Next is a version that takes the place of this one once its caches are filled.
	Next *NextStatus `json:"next,omitempty"`
	// Shadow is the digest of the plugin's shadow.
	Shadow string `json:"shadow,omitempty"`
	// Broken is why what the plugin's file holds now can't be used, with the file's path: what ran before goes on.
	Broken string `json:"broken,omitempty"`
	// Failed is why what the plugin's file and the configuration ask for was tried and isn't what runs.
	Failed []string `json:"failed,omitempty"`
	// Instances is how many instances of the module there are, Busy how many of them are in a sync.
	Instances int `json:"instances"`
	Busy      int `json:"busy"`
	// Resting tells that the module isn't loaded, because no key has come for it, or none for long (sandbox.rest).
	Resting bool `json:"resting,omitempty"`
	// Memory is what the plugin holds, of its budget.memory.
	Memory Memory `json:"memory"`
}

// NextStatus is a version that waits for its caches.
type NextStatus struct {
	Version string    `json:"version"`
	Digest  string    `json:"digest"`
	Since   time.Time `json:"since"`
	// Why says which controller's resource can't be read yet.
	Why string `json:"why,omitempty"`
}

// How a swap ended.
const (
	SwapOnTrial      = "on trial" // it may still be rolled back
	SwapOK           = "ok"
	SwapRolledBack   = "rolled back"
	SwapStays        = "stays"  // it has failed its trial, but there is nothing to fall back on
	SwapFailed       = "failed" // what ran before goes on
	SwapReconfigured = "reconfigured"
	SwapAdded        = "added"
	SwapRemoved      = "removed"
)

// Swap is one replacement of a plugin's version, or an attempt at one.
type Swap struct {
	Time   time.Time `json:"time"`
	Plugin string    `json:"plugin"`
	// Result is one of the constants above.
	Result string `json:"result"`
	// From and To are digests, To is empty where the plugin's file couldn't be used; FromVersion and ToVersion are what
	// the modules call themselves.
	From        string `json:"from,omitempty"`
	To          string `json:"to,omitempty"`
	FromVersion string `json:"fromVersion,omitempty"`
	ToVersion   string `json:"toVersion,omitempty"`
	// Why says what was wrong, Ended when the trial was over.
	Why   string    `json:"why,omitempty"`
	Ended time.Time `json:"ended,omitzero"`
}
