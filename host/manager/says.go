package manager

import (
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/host/record"
)

// guestLogger returns what logs what a plugin says outside of syncs.
func guestLogger(c *choice, s *record.Source) func(int32, string) {
	return func(_ int32, message string) {
		klog.InfoS("Plugin says", "plugin", c.Name, "digest", shortDigest(c.Digest), "message",
			record.NewVeil(s).Text(message))
	}
}
