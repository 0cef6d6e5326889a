package state

import "time"

// Why a controller doesn't run here.
const (
	NotBuilt = "NotBuilt" // kube-controller-manager has it, and no plugin that is here does
	Disabled = "Disabled" // --controllers doesn't turn it on
	Loading  = "Loading"  // its plugin isn't built in, and is being compiled
	LeftOut  = "LeftOut"  // its plugin couldn't be loaded: Status.LeftOut says why
)

// Absent is a controller that kube-controller-manager or a plugin has, and that doesn't run here.
type Absent struct {
	Name string `json:"name"`
	// State is one of the constants above, or Standby; Message says it in words.
	State   string `json:"state"`
	Message string `json:"message"`
	// Resource is that of the objects that nobody but the controller acts for, such as "batch/v1/cronjobs", and Objects
	// how many there are, both empty where there are none, or where that can't be known: it is asked for at most once a
	// minute, and only where this process would run it.
	Resource string `json:"resource,omitempty"`
	Objects  int64  `json:"objects,omitempty"`
	// Built is whether some plugin has the controller. It isn't served: [Troubles] says what follows from it.
	Built bool `json:"-"`
}

// Ending is a namespace that is being deleted since a time.
type Ending struct {
	Namespace string    `json:"namespace"`
	Since     time.Time `json:"since"`
}
