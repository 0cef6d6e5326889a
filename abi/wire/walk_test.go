package wire_test

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
)

func TestWalk(t *testing.T) {
	n := &node{Name: "a", Children: []node{{Name: "b", Children: []node{{Name: "c"}}},
		{Name: "d", Next: &node{Name: "e"}}}, Next: &node{Name: "f"},
		Labels: wire.StringMap{{Key: "k", Value: "v"}}}
	var met []string
	wire.Walk(unsafe.Pointer(n), &nodeTable, func(p unsafe.Pointer, u *wire.Type) {
		if u != &nodeTable {
			met = append(met, (*wire.KV)(p).Key)
			return
		}
		x := (*node)(p)
		met = append(met, x.Name)
		if x.Name == "f" {
			x.Next = &node{Name: "g"}
		}
	})
	if got, want := strings.Join(met, " "), "a b c d e f g k"; got != want {
		t.Errorf("met %s, want %s", got, want)
	}
}
