// Package figure names what the benchmark measures.
package figure

// Set are the figures of one run of a scenario.
type Set map[string]float64

// The names of figures.
const (
	Wall      = "time to convergence" // seconds
	Made      = "time until made"     // seconds until there is what is wanted, whether it is ready or not
	First     = "start to first sync" // seconds from the process's start to its first write that can be seen
	CPU       = "CPU"                 // seconds, until the manager was at rest again
	PerEvent  = "CPU per event"       // seconds
	Peak      = "memory, peak"        // bytes of RSS
	Steady    = "memory, steady"      // bytes of RSS: the median of five looks at rest
	Anonymous = "anonymous memory"    // of the steady, what is no file's
	Heap      = "Go heap"             // bytes
	Received  = "received"            // bytes from the API server, on the wire
	Writes    = "API writes"
	Calls     = "API calls: " // with a verb
	Syncs     = "syncs"       // keys taken from work queues
	SyncTime  = "time per sync"
	P50       = "event to write, p50" // seconds
	P99       = "event to write, p99" // seconds
)

// Unit is how the numbers of a figure are to be read.
type Unit int

// The units.
const (
	Number Unit = iota
	Seconds
	Bytes
)

// Of returns the unit of a figure.
func Of(name string) Unit {
	switch name {
	case Wall, Made, First, CPU, PerEvent, SyncTime, P50, P99:
		return Seconds
	case Peak, Steady, Anonymous, Heap, Received:
		return Bytes
	}
	return Number
}

// Ordered are all figures but the calls by verb, as a table has them.
var Ordered = []string{Wall, Made, First, CPU, PerEvent, Peak, Steady, Anonymous, Heap, Received, Syncs, SyncTime, P50,
	P99, Writes}
