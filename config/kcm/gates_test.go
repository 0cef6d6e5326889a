package kcm

import (
	"slices"
	"testing"
)

// A setting that has a gate's name is what the gate decides, by the flag --feature-gates too.
func TestGatesOfSettings(t *testing.T) {
	gates, checked := Gates(), 0
	for controller, b := range builtins {
		for name := range b.settings {
			g, is := gates[name]
			if !is {
				continue
			}
			checked++
			if !slices.Contains(g.Settings(name), b.plugin) {
				t.Errorf("gate %s doesn't decide the setting of plugin %s: differential/gates doesn't find it in the code of %s",
					name, b.plugin, controller)
			}
		}
	}
	if checked == 0 {
		t.Error("no plugin has a gate among its settings")
	}
}
