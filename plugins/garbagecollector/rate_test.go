package garbagecollector

import (
	"testing"

	"github.com/windlass-dev/windlass/abi"
)

// The collector may ask twice as often as other controllers, not twice as much at once
// (cmd/kube-controller-manager/app/core.go).
func TestRate(t *testing.T) {
	if got := Plugin.Manifest().Controllers[0].Rate; got != (abi.Rate{QPS: 2}) {
		t.Errorf("%+v", got)
	}
}
