package manager

import (
	"slices"
	"strings"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/config"
)

// tellRestart says which fields of the configuration wait for a restart, when these are others than before.
func tellRestart(started, before, now *config.Configuration) {
	was, is := config.WaitForRestart(started, before), config.WaitForRestart(started, now)
	switch {
	case slices.Equal(was, is):
	case len(is) == 0:
		klog.InfoS("Nothing of the configuration waits for a restart any more")
	default:
		klog.InfoS("Changed fields are read at the start only: restart windlass to apply them", "fields",
			strings.Join(is, ","))
	}
}
