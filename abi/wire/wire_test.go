package wire_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
)

// node is a type that contains itself, with one field of each kind that the API's types lack.
type node struct {
	Name     string
	Children []node
	Next     *node
	Numbers  []float64
	Blobs    [][]byte
	Longs    []int64
	Flags    []bool
	Ratio    *float64
	Labels   wire.StringMap
	XUnknown wire.Unknown
}

var nodeTable = wire.Type{Size: unsafe.Sizeof(node{}), Spare: unsafe.Offsetof(node{}.XUnknown) + 1,
	New: wire.Grow[node], Fields: []wire.Field{
		{Num: 1, Kind: wire.String, Offset: unsafe.Offsetof(node{}.Name), JSON: "name"},
		{Num: 2, Kind: wire.Rep | wire.Message, Offset: unsafe.Offsetof(node{}.Children), JSON: "children"},
		{Num: 3, Kind: wire.Ptr | wire.Message, Offset: unsafe.Offsetof(node{}.Next), JSON: "next"},
		{Num: 4, Kind: wire.Rep | wire.Double, Offset: unsafe.Offsetof(node{}.Numbers), JSON: "numbers"},
		{Num: 5, Kind: wire.Rep | wire.Bytes, Offset: unsafe.Offsetof(node{}.Blobs), JSON: "blobs"},
		{Num: 6, Kind: wire.Rep | wire.Int64, Offset: unsafe.Offsetof(node{}.Longs), JSON: "longs"},
		{Num: 7, Kind: wire.Rep | wire.Bool, Offset: unsafe.Offsetof(node{}.Flags), JSON: "flags"},
		{Num: 8, Kind: wire.Ptr | wire.Double, Offset: unsafe.Offsetof(node{}.Ratio), JSON: "ratio"},
		{Num: 9, Kind: wire.Map | wire.Message, Offset: unsafe.Offsetof(node{}.Labels), Elem: &wire.StringEntry,
			JSON: "labels"},
	}}

func encode(n *node) []byte { return wire.Append(nil, unsafe.Pointer(n), &nodeTable) }

func decode(t *testing.T, b []byte) *node {
	t.Helper()
	n := new(node)
	if err := wire.Unmarshal(b, unsafe.Pointer(n), &nodeTable); err != nil {
		t.Fatalf("%x: %v", b, err)
	}
	return n
}

func TestRoundTripOfOtherKinds(t *testing.T) {
	half := 0.5
	n := &node{Name: "a", Children: []node{{Name: "b"}, {}, {Children: []node{{Name: "c"}}}}, Next: &node{},
		Numbers: []float64{0, -1.5, 1e300, math.Inf(1)},
		Blobs:   [][]byte{{}, {1, 2}}, Longs: []int64{-1, 0, math.MaxInt64}, Flags: []bool{true, false}, Ratio: &half,
		Labels: wire.StringMap{{Key: "b", Value: "2"}, {Key: "a", Value: "1"}}}
	m := decode(t, encode(n))
	if !wire.Equal(unsafe.Pointer(n), unsafe.Pointer(m), &nodeTable) {
		t.Errorf("differs: %+v", m)
	}
	if m.Labels[0].Key != "a" {
		t.Errorf("labels aren't sorted on the wire: %v", m.Labels)
	}
	n.Numbers = n.Numbers[:2]
	j := wire.AppendJSON(nil, unsafe.Pointer(n), &nodeTable)
	const want = `{"name":"a","children":[{"name":"b"},{},{"children":[{"name":"c"}]}],"next":{},"numbers":[0,-1.5],"blobs":["","AQI="],` +
		`"longs":[-1,0,9223372036854775807],"flags":[true,false],"ratio":0.5,"labels":{"a":"1","b":"2"}}`
	if string(j) != want {
		t.Errorf("JSON %s\nwant %s", j, want)
	}
	back := new(node)
	if err := wire.UnmarshalJSON(j, unsafe.Pointer(back), &nodeTable); err != nil ||
		!wire.Equal(unsafe.Pointer(n), unsafe.Pointer(back), &nodeTable) {
		t.Errorf("JSON there and back: %v, %+v", err, back)
	}
}

func TestMalformed(t *testing.T) {
	deep := []byte{}
	for range wire.MaxDepth + 1 {
		deep = wire.AppendBytes(nil, 3, deep)
	}

	for name, c := range map[string]struct {
		in   []byte
		want wire.Error
	}{
		"tag without field":       {[]byte{1<<3 | 2}, wire.ErrTruncated},
		"longer than the message": {[]byte{1<<3 | 2, 5, 'a'}, wire.ErrTruncated},
		"length of 2^63":          {append([]byte{1<<3 | 2}, wire.AppendVarint(nil, 1<<63)...), wire.ErrTruncated},
		"field zero":              {[]byte{0, 0}, wire.ErrTag},
		"endless number":          {append([]byte{9 << 3}, bytes.Repeat([]byte{0xff}, 11)...), wire.ErrVarint},
		"group":                   {[]byte{1<<3 | 3}, wire.ErrWireType},
		"number for text":         {[]byte{1 << 3, 1}, wire.ErrWireType},
		"cut double":              {[]byte{4<<3 | 1, 0, 0}, wire.ErrTruncated},
		"cut packed double":       {[]byte{4<<3 | 2, 3, 0, 0, 0}, wire.ErrTruncated},
		"cut map entry":           {[]byte{9<<3 | 2, 2, 1<<3 | 2, 7}, wire.ErrTruncated},
		"too deep":                {deep, wire.ErrDepth},
	} {
		t.Run(name, func(t *testing.T) {
			if err := wire.Unmarshal(c.in, unsafe.Pointer(new(node)), &nodeTable); err != c.want {
				t.Errorf("%x: %v, want %v", c.in, err, c.want)
			}
		})
	}

	for in, want := range map[string]wire.Error{
		"":                                 wire.ErrJSON,
		"[]":                               wire.ErrJSON,
		`{"name":"a"} x`:                   wire.ErrJSON,
		`{"name":"a`:                       wire.ErrTruncated,
		`{"name":"` + "\n" + `"}`:          wire.ErrJSON,
		`{"longs":[1.5]}`:                  wire.ErrNumber,
		`{"longs":[9223372036854775808]}`:  wire.ErrNumber,
		`{"x":01}`:                         wire.ErrJSON,
		`{"blobs":["A"]}`:                  wire.ErrJSON,
		strings.Repeat(`{"next":`, 99):     wire.ErrDepth,
		`{"x":` + strings.Repeat(`[`, 999): wire.ErrDepth,
	} {
		if err := wire.UnmarshalJSON([]byte(in), unsafe.Pointer(new(node)), &nodeTable); err != want {
			t.Errorf("%.40s: %v, want %v", in, err, want)
		}
	}
}

func TestPackedNumbersAreRead(t *testing.T) {
	n := decode(t, []byte{6<<3 | 2, 3, 1, 0x96, 1, 7<<3 | 2, 2, 1, 0})
	if len(n.Longs) != 2 || n.Longs[1] != 150 || len(n.Flags) != 2 || !n.Flags[0] {
		t.Errorf("%+v", n)
	}
}

// The last of entries with the same key counts, wherever it stands.
func TestMapWithRepeatedKeys(t *testing.T) {
	var b []byte
	for _, e := range []string{"b1", "a1", "b2", "c1", "a2"} {
		b = wire.AppendBytes(b, 9, wire.AppendString(wire.AppendString(nil, 1, e[:1]), 2, e[1:]))
	}
	n := decode(t, b)
	if want := (wire.StringMap{{Key: "a", Value: "2"}, {Key: "b", Value: "2"}, {Key: "c", Value: "1"}}); !wire.EqualMaps(
		n.Labels, want) {
		t.Errorf("%v, want %v", n.Labels, want)
	}
}

func TestDict(t *testing.T) {
	var m wire.StringMap
	m.Set("b", "1")
	m.Set("a", "2")
	m.Set("b", "3")
	if v, ok := m.Lookup("b"); len(m) != 2 || v != "3" || !ok || m.Has("c") || m.Get("c") != "" {
		t.Errorf("after Set: %v", m)
	}
	c := m.Clone()
	c.Delete("b")
	c.Delete("x")
	if len(c) != 1 || !m.Has("b") || wire.EqualMaps(c, m) {
		t.Errorf("after Delete: %v, of %v", c, m)
	}
}

// A length that takes more than a byte moves what it belongs to, at each level.
func TestLongMessages(t *testing.T) {
	for _, size := range []int{0, 120, 127, 128, 16383, 16384, 1 << 21} {
		n := &node{Next: &node{Next: &node{Name: strings.Repeat("x", size)}}, Labels: wire.StringMap{{Key: "k", Value: "v"}}}
		m := decode(t, encode(n))
		if len(m.Next.Next.Name) != size || m.Labels.Get("k") != "v" {
			t.Errorf("size %d: came back with %d", size, len(m.Next.Next.Name))
		}
	}
}

func FuzzFieldsAgreesWithUnmarshal(f *testing.F) {
	f.Add(encode(&node{Name: "a", Longs: []int64{1, 1 << 60}, Children: []node{{}}}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := wire.Fields{Data: b}
		var again []byte
		for r.Next() {
			again = append(again, r.Raw()...)
		}
		if r.Err == 0 && !bytes.Equal(again, b) {
			t.Fatalf("fields of %x make %x", b, again)
		}
		var empty struct{ XUnknown wire.Unknown }
		all := wire.Type{Size: unsafe.Sizeof(empty), Spare: 1}
		err := wire.Unmarshal(b, unsafe.Pointer(&empty), &all)
		if (err == nil) != (r.Err == 0) {
			t.Fatalf("%x: Fields says %d, Unmarshal %v", b, r.Err, err)
		}
		if err == nil && string(wire.Append(nil, unsafe.Pointer(&empty), &all)) != string(b) {
			t.Fatalf("%x: unknown fields came back as %x", b, empty.XUnknown)
		}
	})
}
