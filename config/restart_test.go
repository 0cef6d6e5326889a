package config_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/config/configtest"
)

// A field that is read at the start only is told when it changes, by its own path, and no other is.
func TestWaitForRestart(t *testing.T) {
	told := 0
	for _, path := range configtest.Fields(reflect.TypeFor[config.Configuration]()) {
		atStart := slices.ContainsFunc(config.ReadAtStart(), func(p string) bool {
			return path == p || strings.HasPrefix(path, p+".") || strings.HasPrefix(path, p+"[].")
		})
		k := config.Default()
		configtest.Change(k, path)
		list, _, _ := strings.Cut(path, "[]")
		switch waits := config.WaitForRestart(config.Default(), k); {
		case atStart && !slices.Equal(waits, []string{list}), !atStart && waits != nil:
			t.Errorf("%s: %q", path, waits)
		case atStart:
			told++
		}
	}
	if told < 15 {
		t.Errorf("only %d fields are read at the start only", told)
	}
}
