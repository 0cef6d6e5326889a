package effects

import (
	"testing"

	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
)

// To evict a pod is a right of its own: who may create pods, or delete them, may not.
func TestEvictionIsARight(t *testing.T) {
	for _, x := range []struct {
		writes  []abi.Write
		refused bool
	}{
		{[]abi.Write{{Resource: podsR, Verbs: []string{"create", "delete"}}}, true},
		{[]abi.Write{{Resource: podsR, Subresource: "eviction", Verbs: []string{"create"}}}, false},
	} {
		w, err := New(Options{Plugin: "p", Config: &rest.Config{}, Controller: &abi.Controller{Name: "c", Writes: x.writes}})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		evict := abi.Effect{Kind: abi.EffectEvict, Resource: "v1/pods", Namespace: "default", Name: "web-a", UID: "u"}
		if err := w.Begin(abi.KeyRef{Name: "web"}, nil).Check([]abi.Effect{evict}); Refused(err) != x.refused {
			t.Errorf("with the right to %v: %v", x.writes, err)
		}
	}
}
