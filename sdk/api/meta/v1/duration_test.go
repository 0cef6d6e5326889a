package v1

import (
	"testing"
	"time"
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
)

func TestDuration(t *testing.T) {
	type wait struct{ For, Most Duration }
	table := wire.Type{Size: unsafe.Sizeof(wait{}), New: wire.Grow[wait], Fields: []wire.Field{
		{Kind: wire.Message, Offset: unsafe.Offsetof(wait{}.For), Elem: &DurationTable, JSON: "for"},
		{Kind: wire.Message, Offset: unsafe.Offsetof(wait{}.Most), Elem: &DurationTable, JSON: "most"},
	}}
	w := wait{}
	const text = `{"for":"90m"}`
	if err := wire.UnmarshalJSON([]byte(text), unsafe.Pointer(&w), &table); err != nil {
		t.Fatal(err)
	}
	if d, ok := w.For.Get(); !ok || d != 90*time.Minute {
		t.Errorf("90m is %v, %v", d, ok)
	}
	if _, ok := w.Most.Get(); ok {
		t.Error("no duration is one")
	}
	if got := string(wire.AppendJSON(nil, unsafe.Pointer(&w), &table)); got != text {
		t.Errorf("%s became %s", text, got)
	}
	if d := DurationOf(time.Second); d.Text != "1s" {
		t.Errorf("a second is %v", d)
	}
}
