package manager

import (
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/record"
)

// startup veils what a plugin says outside of syncs: it gets the content of files then, which may be keys.
func (m *manager) startup(k *config.Configuration, c *choice) (*record.Source, error) {
	values, _, err := plugins.Settings(c.Manifest, m.settings(k, c))
	if err != nil {
		return nil, err
	}
	s := &record.Source{Manifest: c.Manifest}
	s.SetSettings(values.Values)
	return s, nil
}

// guestLogger returns what logs what a plugin says outside of syncs.
func guestLogger(c *choice, s *record.Source) func(int32, string) {
	return func(_ int32, message string) {
		klog.InfoS("Plugin says", "plugin", c.Name, "digest", shortDigest(c.Digest), "message",
			record.NewVeil(s).Text(message))
	}
}
