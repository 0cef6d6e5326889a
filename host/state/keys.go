package state

import (
	"time"

	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/record"
)

// Keys are keys that aren't done.
type Keys struct {
	Keys []controller.Stuck `json:"keys"`
	// All is how many there are that were asked for.
	All int `json:"all"`
	// Waiting are keys that nothing holds up and that wait for a time, the next first; AllWaiting is how many there are.
	Waiting    []controller.Stuck `json:"waiting"`
	AllWaiting int                `json:"allWaiting"`
}

// Sync is a recorded sync, without what it was called with and without what is in the objects that it wrote.
type Sync struct {
	Controller string    `json:"controller"`
	Key        string    `json:"key"`
	Time       time.Time `json:"time"`
	Seconds    float64   `json:"seconds"`
	// Result is as the metrics count it; Error says why.
	Result  string `json:"result"`
	Error   string `json:"error,omitempty"`
	Plugin  string `json:"plugin"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
	// Did is what it wrote, such as "create v1/pods shop/web-1", and which events it recorded; a few at most. What it
	// asked for without changing anything isn't there.
	Did []string `json:"did,omitempty"`
	// Again is after how long it asked to be synced again.
	Again string `json:"again,omitempty"`
}

// Recorded are syncs.
type Recorded struct {
	Syncs []Sync `json:"syncs"`
	// All is how many there are that were asked for.
	All int `json:"all"`
}

// Explanation is what is known of the last writes to an object, the newest first, one of each controller that has
// written it.
type Explanation struct {
	Resource  string         `json:"resource"`
	Namespace string         `json:"namespace,omitempty"`
	Name      string         `json:"name"`
	Writes    []record.Write `json:"writes"`
}
