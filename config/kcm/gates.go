package kcm

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Gate is a feature gate of kube-controller-manager.
type Gate struct {
	Default bool
	Locked  bool // it can't be set to anything else
}

// gatesText has a gate a line: its name, its default, and whether it is locked. `go test ./test/kubeadm` says how it differs from the native binary's.
//
//go:embed gates.txt
var gatesText string

// Gates are the feature gates by name.
var Gates = sync.OnceValue(func() map[string]Gate {
	all := map[string]Gate{}
	for line := range strings.Lines(gatesText) {
		if f := strings.Fields(line); len(f) >= 2 {
			all[f[0]] = Gate{Default: f[1] == "true", Locked: len(f) == 3}
		}
	}
	return all
})

// GateNames are the names of all feature gates, sorted.
func GateNames() []string { return slices.Sorted(maps.Keys(Gates())) }
