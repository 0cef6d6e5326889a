package barrier

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
)

// Sight is what one version of a controller sees of the cluster.
type Sight struct {
	// Store returns the cache of a resource that the version reads, nil of any other: what it doesn't read can't mislead
	// its next sync.
	Store func(abi.Resource) Store
	// Object reads an object from the server, nil when there is none, and Version the version that a collection has there.
	Object  func(ctx context.Context, r abi.Resource, namespace, name string) ([]byte, error)
	Version func(ctx context.Context, r abi.Resource) (string, error)

	// StaleWait bounds how long a key waits for the cache after a conflict.
	StaleWait time.Duration
	// LiveCheck is after how long a waiting key is compared with the server, and Timeout how long that may take.
	LiveCheck, Timeout time.Duration
	// Waited is told how long a parked key has waited; nil: nobody asks.
	Waited func(took time.Duration)
	Log    klog.Logger
}

// Store is what is asked of a resource's cache.
type Store interface {
	Get(namespace, name string) *cache.Object
	Version() string
}
