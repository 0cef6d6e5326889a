package life

import (
	"flag"
	"maps"
	"os"
	"testing"

	"github.com/windlass-dev/windlass/config"
)

// Main runs a package's tests, letting all scripts play at a time: they wait far more than they compute.
func Main(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "256"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// PlayWorks plays the piece of work of each life, at a time, each in a namespace that has its plugin's name before
// "-work", and returns when they are done.
func (s *Stage) PlayWorks(t *testing.T, lives []*Life) {
	t.Helper()
	ok := t.Run("work", func(t *testing.T) {
		for _, l := range lives {
			t.Run(l.Plugin, func(t *testing.T) {
				t.Parallel()
				s.Play(t, &l.Work, l.Plugin+"-work")
			})
		}
	})
	if !ok {
		t.FailNow()
	}
}

// Configured are the plugins' settings for the lives; quick ones are for when no native manager is waited for.
func Configured(lives []*Life, quick bool) (all []config.Plugin) {
	for _, l := range lives {
		settings := maps.Clone(l.Settings)
		if settings == nil {
			settings = map[string]string{}
		}
		if quick {
			maps.Copy(settings, l.Quick)
		}
		if len(settings) > 0 {
			all = append(all, config.Plugin{Name: l.Plugin, Settings: settings})
		}
	}
	return all
}
