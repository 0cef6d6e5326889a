// Package unmeasured has work queues keep no metrics. A queue that does wakes twice a second to bring one up to date:
// a sixth of what daemonset's worlds took, as many seconds pass in those with late caches.
package unmeasured

import (
	"sync"
	_ "unsafe" // for go:linkname

	_ "k8s.io/client-go/util/workqueue"
)

//go:linkname providerSet k8s.io/client-go/util/workqueue.setGlobalMetricsProviderOnce
var providerSet sync.Once

// Nobody compares these metrics. Go initializes packages in the order of their paths as far as their imports allow, so
// this one comes before k8s.io/component-base's, whose provider would be taken otherwise.
func init() { providerSet.Do(func() {}) }
