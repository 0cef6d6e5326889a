package wire_test

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/windlass-dev/windlass/abi/wire"
)

// Whatever the bytes: an error, or a message that is the same after being written and read again, as protobuf and as
// JSON; and never more memory than was promised.
func FuzzUnmarshalIsStableAndBounded(f *testing.F) {
	half := 0.5
	full := &node{Name: "a", Children: []node{{Name: "b"}, {}}, Next: &node{Next: &node{}}, Numbers: []float64{1},
		Blobs: [][]byte{{1}}, Longs: []int64{-1}, Flags: []bool{true}, Ratio: &half,
		Labels: wire.StringMap{{Key: "a", Value: "1"}}}
	f.Add(encode(full))
	f.Add([]byte("\x12\x00\x12\x00\x12\x00\x12\x00\x1a\x02\x1a\x00"))
	f.Add([]byte("\x22\x08\x00\x00\x00\x00\x00\x00\xf8\x7f\x4a\x00"))

	f.Fuzz(func(t *testing.T, b []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		n := new(node)
		err := wire.Unmarshal(b, unsafe.Pointer(n), &nodeTable)
		runtime.ReadMemStats(&after)
		// the fuzzer's own goroutines allocate as well
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(2*(len(b)*wire.Expansion+wire.ExpansionBase)) {
			t.Fatalf("%d bytes took %d", len(b), took)
		}
		if err != nil {
			return
		}
		again := new(node)
		if err := wire.Unmarshal(encode(n), unsafe.Pointer(again), &nodeTable); err != nil {
			t.Fatalf("what we wrote can't be read: %v", err)
		}
		if !bytes.Equal(encode(n), encode(again)) { // not wire.Equal: NaN equals nothing
			t.Fatalf("differs after being written and read: %x, %x", encode(n), encode(again))
		}
		wire.AppendJSON(nil, unsafe.Pointer(n), &nodeTable)
	})
}

// Whatever the text: an error, or a message whose JSON is the same after being read again.
func FuzzUnmarshalJSONIsStable(f *testing.F) {
	f.Add([]byte(`{"name":"a","children":[{"name":"b"},{}],"next":{"longs":["1",2]},"numbers":[1e3,-0.5],"blobs":["AQI="],"flags":[true],"ratio":2,"labels":{"a":"b"}}`))
	f.Add([]byte(`{"name":"\ud800\u0000","children":null}`))
	f.Add([]byte(`[[[[[[[[`))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, again := new(node), new(node)
		if wire.UnmarshalJSON(b, unsafe.Pointer(n), &nodeTable) != nil {
			return
		}
		text := wire.AppendJSON(nil, unsafe.Pointer(n), &nodeTable)
		if err := wire.UnmarshalJSON(text, unsafe.Pointer(again), &nodeTable); err != nil {
			t.Fatalf("%q became %q, which can't be read: %v", b, text, err)
		}
		if second := wire.AppendJSON(nil, unsafe.Pointer(again), &nodeTable); string(second) != string(text) {
			t.Fatalf("%q became %q, then %q", b, text, second)
		}
	})
}

// With a path or without one: the same is read and the same refused.
func FuzzUnmarshalJSONPathAgrees(f *testing.F) {
	f.Add([]byte(`{"name":"a","children":[{"name":"b"},{"longs":["1",2.5]}]}`))
	f.Add([]byte(`{"labels":{"a":{"b":[]}}}`))
	f.Add([]byte(`{"next":{"next":{"name" "x"}}}`))
	f.Add([]byte(`[1,{"a`))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, m := new(node), new(node)
		plain, with := wire.UnmarshalJSON(b, unsafe.Pointer(n), &nodeTable),
			wire.UnmarshalJSONPath(b, unsafe.Pointer(m), &nodeTable)
		if plain == nil && with == nil {
			return
		}
		var e *wire.PathError
		if !errors.As(with, &e) || e.Err != plain && (plain != wire.ErrJSON || e.Err != wire.ErrType) {
			t.Fatalf("%q: %v, and with the path %v", b, plain, with)
		}
	})
}

// Times are read as the standard library reads them, where it and we read them at all.
func FuzzParseTimeAgrees(f *testing.F) {
	for _, s := range []string{"2026-11-21T18:00:00Z", "2026-02-29T23:59:60+24:00", "0001-01-01T00:00:00.999999999-23:59",
		""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := wire.Parse(s)
		want, wantErr := time.Parse(time.RFC3339, s)
		if err == nil && wantErr == nil && got.Unix() != want.Unix() {
			t.Fatalf("%q is %d, must be %d", s, got.Unix(), want.Unix())
		}
		if err == nil && wantErr != nil {
			t.Fatalf("%q was read as %v; the standard library says %v", s, got, wantErr)
		}
	})
}

// A quantity that is read is one to apimachinery, too.
func FuzzParseQuantityAgrees(f *testing.F) {
	for _, s := range []string{"1", "100m", "1.5Gi", "-3e6", "+.5", "9999999999999999999999Ei", "1e", "Ki"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if s == "" || len(s) > 100 { // nothing is zero to us; upstream takes exponents of any length, and much time for them
			return
		}
		if _, ok := wire.ParseQuantity(s); !ok {
			return
		}
		if _, err := resource.ParseQuantity(s); err != nil {
			t.Fatalf("%q was read; apimachinery says %v", s, err)
		}
	})
}
