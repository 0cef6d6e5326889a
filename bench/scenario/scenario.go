// Package scenario has the work that the benchmark gives to a controller manager.
package scenario

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/test/cluster"
)

// Base is what a cluster holds before a manager is measured on it. It is made once; each run gets a copy.
type Base struct {
	Name  string
	Nodes func(full bool) int
	// without a manager; the native one brings it to rest then; nil leaves the cluster empty
	Prepare func(context.Context, *World) error
}

// Scenario is some work for a manager.
type Scenario struct {
	Name  string
	Title func(full bool) string
	Base  *Base
	Start bool                                // what is measured is the manager's start; there is nothing to do
	Full  bool                                // only in the full form
	Named bool                                // only where it is asked for by its name
	Setup func(context.Context, *World) error // before the clock starts; nil for none
	Act   func(context.Context, *World) error // what is measured
}

// World is a running cluster with a manager, and what a scenario has measured by itself.
type World struct {
	Cluster *cluster.Cluster
	Config  *rest.Config
	Client  kubernetes.Interface
	Full    bool
	Alive   func() error // why the manager has ended, if it has
	Say     func(format string, args ...any)

	Wall      time.Duration
	Made      time.Duration   // the part of Wall until there was what was wanted, if a scenario tells
	Reactions []time.Duration // from event to write; where nil, the audit log tells
	Events    int             // what the processor time is divided by; 0 for nothing
	load      func(int64)     // of each app that autoscalers look at
	closers   []func()
}

// NewWorld is a world on a cluster.
func NewWorld(c *cluster.Cluster, full bool) (*World, error) {
	config := rest.CopyConfig(c.RESTConfig())
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &World{Cluster: c, Config: config, Client: client, Full: full, Alive: func() error {
		return nil
	}, Say: func(string, ...any) {}}, nil
}

// Close ends what scenarios have left running.
func (w *World) Close() {
	for _, f := range w.closers {
		f()
	}
}

// Reset forgets what a scenario has measured.
func (w *World) Reset() { w.Wall, w.Made, w.Reactions, w.Events = 0, 0, nil, 0 }

// Size is the larger number in the full form.
func (w *World) Size(full, short int) int { return sizeOfForm(w.Full, full, short) }

func sizeOfForm(is bool, full, short int) int {
	if is {
		return full
	}
	return short
}

// addWallTime adds how long f takes to the time to convergence.
func (w *World) addWallTime(f func() error) error {
	from := time.Now()
	err := f()
	w.Wall += time.Since(from)
	return err
}

// titleWithNumbers returns a title with its numbers in it: those of the full and the short form by turns.
func titleWithNumbers(format string, numbers ...int) func(bool) string {
	return func(full bool) string {
		args := make([]any, 0, len(numbers)/2)
		for i := 0; i+1 < len(numbers); i += 2 {
			args = append(args, sizeOfForm(full, numbers[i], numbers[i+1]))
		}
		return fmt.Sprintf(format, args...)
	}
}

// Find returns a scenario by its name.
func Find(name string) (*Scenario, error) {
	for _, s := range All {
		if s.Name == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("there is no scenario %q: see -list", name)
}
