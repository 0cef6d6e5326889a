package state

import (
	"time"

	"github.com/windlass-dev/windlass/host/controller"
)

// ControllerStatus is what is known of a controller that runs here.
type ControllerStatus struct {
	Name   string `json:"name"`
	Plugin string `json:"plugin"`
	Digest string `json:"digest"`
	// State is Running, Starting, Standby, Idle, Degraded or Quarantined; Message says why, or what a running controller
	// can't read any more.
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
	// Probe is when a quarantined controller is tried with one key; nil: not by itself.
	Probe *time.Time `json:"probe,omitempty"`
	// Unlisted are the resources that a controller with views over all resources runs without.
	Unlisted []Unlisted `json:"unlisted,omitempty"`
	// Queue is how many keys wait for one of the Workers, Syncing how many are being synced.
	Queue   int    `json:"queue"`
	Workers int    `json:"workers"`
	Syncing int    `json:"syncing"`
	PartOf  string `json:"partOf,omitempty"`
	// Resync is the period in which every key is looked at again, such as "17h3m20s"; empty where there is none.
	Resync string `json:"resync,omitempty"`
	// Failing is how many keys' last syncs failed or were put off (at most a thousand are remembered), Parked how many
	// keys wait for the cache.
	Failing int `json:"failing"`
	Parked  int `json:"parked"`
	// Aside is how many of a built-in controller's keys are tried only seldom, because the sandbox gave up their last
	// syncs, or these were refused.
	Aside int `json:"aside,omitempty"`
	// Oldest is the failing key that has been so for longest.
	Oldest *controller.Stuck `json:"oldest,omitempty"`
	// Causes are why keys are failing, those of most keys first; ten at most.
	Causes []controller.Cause `json:"causes,omitempty"`
	// Restless is how many keys are slowed down because they ask to be synced again at once, again and again, and write
	// nothing; Hastiest is the one that has done so for longest.
	Restless int               `json:"restless,omitempty"`
	Hastiest *controller.Stuck `json:"hastiest,omitempty"`
	// Slow is how many keys have been syncing for more than half a minute; Slowest is the one that has been for longest.
	Slow    int               `json:"slow,omitempty"`
	Slowest *controller.Stuck `json:"slowest,omitempty"`
	// Unsettled is how many keys have a write of which nobody knows whether it was done; OldestUnsettled is the one that
	// has had it for longest.
	Unsettled       int               `json:"unsettled,omitempty"`
	OldestUnsettled *controller.Stuck `json:"oldestUnsettled,omitempty"`
	// Last is the last failure, of whichever key.
	Last   *controller.Problem `json:"last,omitempty"`
	Syncs  Syncs               `json:"syncs"`
	Writes Writes              `json:"writes"`
	// Differences is how often the present shadow answered otherwise, as far as it is remembered.
	Differences int `json:"differences,omitempty"`
}

// Unlisted is a resource that can't be listed, or "example.com/v1/*" of which discovery fails, so that it isn't known
// which objects there are of it.
type Unlisted struct {
	Resource string    `json:"resource"`
	Since    time.Time `json:"since"`
	// Why is what the API server answers; empty: it hasn't answered.
	Why string `json:"why,omitempty"`
}

// Syncs are how a controller's syncs ended, since the process began.
type Syncs struct {
	Total int64 `json:"total"` // those that ran: of stale ones there are as many again
	// Failed are those that ended in an error, a trap or a refused answer.
	Failed int64 `json:"failed"`
	// Stale were put off until the cache shows the key's last writes, deferred ones until the plugin's budget has
	// deletes again.
	Stale    int64 `json:"stale"`
	Deferred int64 `json:"deferred"`
	// P50 and P99 are how long the last ones took, in seconds, writes included; of the last few hundred.
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	// GuestSeconds is the time of all in the sandbox, Fuel their metering units.
	GuestSeconds float64 `json:"guestSeconds"`
	Fuel         int64   `json:"fuel"`
	// Memory is the linear memory that the last one used, in bytes.
	Memory int64 `json:"memory"`
}

// Writes are a controller's API writes since the process began.
type Writes struct {
	Verbs map[string]int64 `json:"verbs,omitempty"`
	// Failed are those that the API server refused, or didn't answer.
	Failed int64 `json:"failed"`
}
