package kcm

import (
	"strconv"
	"testing"
)

// Flags whose values upstream bounds (cmd/kube-controller-manager/app/options/endpointslice*.go) have its bounds here.
func TestUpstreamsBounds(t *testing.T) {
	most := map[string]int{
		"concurrent-service-endpoint-syncs": 50, "max-endpoints-per-slice": 1000,
		"mirroring-concurrent-service-endpoint-syncs": 50, "mirroring-max-endpoints-per-subset": 1000,
	}
	found := 0
	for _, g := range controllers {
		for _, f := range g.Flags {
			n, ok := most[f.Name]
			if !ok {
				continue
			}
			found++
			for value, allowed := range map[int]bool{0: false, 1: true, n: true, n + 1: false} {
				if err := f.Check(strconv.Itoa(value)); (err == nil) != allowed {
					t.Errorf("--%s=%d: %v", f.Name, value, err)
				}
			}
		}
	}
	if found != len(most) {
		t.Errorf("%d of %d flags are there", found, len(most))
	}
}
