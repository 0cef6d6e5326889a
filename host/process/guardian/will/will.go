package will

import "time"

// Testament says what is to be done for a process that has ended.
type Testament struct {
	// Identity is that under which it has held Leases: no other process has it.
	Identity string `json:"identity"`
	// Namespace and Leases are those of the Leases that it may have held.
	Namespace string   `json:"namespace"`
	Leases    []string `json:"leases"`
	// Late is how long after a request has ended as far as the server tells it may still be done.
	Late time.Duration `json:"late"`
	// Within is after how long there is nothing left to be done: the Leases have expired by themselves.
	Within time.Duration `json:"within"`
}
