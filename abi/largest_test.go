package abi_test

import (
	"testing"

	"github.com/windlass-dev/windlass/abi"
)

// The largest effect of an answer is found among others and other fields, and what isn't an answer has none.
func TestLargest(t *testing.T) {
	r := &abi.SyncResponse{State: make([]byte, 5000), RequeueAfter: 7, Effects: []abi.Effect{
		{Kind: abi.EffectCreate, Resource: "v1/pods", Namespace: "web", Object: make([]byte, 100)},
		{Kind: abi.EffectUpdate, Resource: "v1/configmaps", Namespace: "web", Name: "large", Object: make([]byte, 2000)},
		{Kind: abi.EffectDelete, Resource: "v1/pods", Namespace: "web", Name: "p"},
	}}
	b := abi.AppendResponse(nil, r)
	effects, place, size, about := abi.Largest(b)
	if effects != 3 || place != 1 || size < 2000 || size > 2100 || about.Resource != "v1/configmaps" ||
		about.Namespace != "web" || about.Name != "large" {
		t.Errorf("%d effects; the one at %d has %d bytes: %+v", effects, place, size, about)
	}
	for n := range b {
		abi.Largest(b[:n])
		abi.Largest(b[n:])
	}
	if effects, _, size, _ := abi.Largest(make([]byte, 1000)); effects != 0 || size != 0 {
		t.Errorf("%d effects, %d bytes, in no answer", effects, size)
	}
}
