package wire

import (
	"testing"
	"unsafe"
)

type sparse struct {
	A, B, C string
	Labels  StringMap
	When    Time
	Blobs   [][]byte
	Self    *sparse
	Unknown Unknown
}

var sparseTable = Type{Size: unsafe.Sizeof(sparse{}), Spare: unsafe.Offsetof(sparse{}.Unknown) + 1, New: Grow[sparse],
	Fields: []Field{
		{Kind: Int32, Offset: unsafe.Offsetof(sparse{}.A)}, // of JSON alone: never met here
		{Kind: Int32, Offset: unsafe.Offsetof(sparse{}.A)},
		{Num: 2, Kind: String, Offset: unsafe.Offsetof(sparse{}.A)},
		{Num: 3, Kind: Map | Message, Offset: unsafe.Offsetof(sparse{}.Labels), Elem: &StringEntry},
		{Num: 7, Kind: String, Offset: unsafe.Offsetof(sparse{}.B)},
		{Num: 8, Kind: Message, Offset: unsafe.Offsetof(sparse{}.When), Elem: &TimeTable},
		{Num: 9, Kind: Rep | Bytes, Offset: unsafe.Offsetof(sparse{}.Blobs)},
		{Num: 15, Kind: Ptr | Message, Offset: unsafe.Offsetof(sparse{}.Self)},
		{Num: 4000, Kind: String, Offset: unsafe.Offsetof(sparse{}.C)},
	}}

// Fields are found in whatever order they come, and those without a place are kept in theirs.
func TestDecodeFieldsInAnyOrder(t *testing.T) {
	known := map[uint32]func(*sparse) string{
		2: func(s *sparse) string {
			return s.A
		}, 7: func(s *sparse) string { return s.B }, 4000: func(s *sparse) string { return s.C }}

	numbers := []uint32{1, 2, 4, 7, 14, 100, 4000, 5000, MaxNum}
	for _, a := range numbers {
		for _, b := range numbers {
			for _, c := range numbers {
				if a == b || b == c || a == c {
					continue
				}
				var in, spare []byte
				for _, n := range []uint32{a, b, c} {
					in = AppendString(in, n, "text")
					if known[n] == nil {
						spare = AppendString(spare, n, "text")
					}
				}
				var s sparse
				if err := Unmarshal(in, unsafe.Pointer(&s), &sparseTable); err != nil {
					t.Fatal(a, b, c, err)
				}
				for n, value := range known {
					if want := n == a || n == b || n == c; (value(&s) == "text") != want {
						t.Errorf("%d, %d, %d: field %d is %q", a, b, c, n, value(&s))
					}
				}
				if string(s.Unknown) != string(spare) {
					t.Errorf("%d, %d, %d: kept %q, want %q", a, b, c, s.Unknown, spare)
				}
			}
		}
	}
}

// Entries and times that are not written as everyone writes them mean the same.
func TestDecodeUnusualForms(t *testing.T) {
	long := string(make([]byte, 200))
	for in, want := range map[string]KV{
		"":                             {},
		"\x0a\x01k":                    {"k", ""},
		"\x12\x01v":                    {"", "v"},
		"\x0a\x00\x12\x00":             {},
		"\x0a\x01k\x12\x00":            {"k", ""},
		"\x0a\x01k\x12\x01v":           {"k", "v"},
		"\x12\x01v\x0a\x01k":           {"k", "v"},
		"\x0a\x01k\x12\x01v\x12\x01w":  {"k", "w"},
		"\x0a\x81\x00k\x12\x81\x00v":   {"k", "v"},
		"\x0a\x01k\x12\xc8\x01" + long: {"k", long},
		"\x0a\x01k\x12\x01v\x18\x01":   {"k", "v"},
	} {
		var s sparse
		if err := Unmarshal(AppendString(nil, 3, in), unsafe.Pointer(&s), &sparseTable); err != nil || len(s.Labels) != 1 ||
			s.Labels[0] != want {
			t.Errorf("entry %q: %q, %v", in, s.Labels, err)
		}
	}

	for in, want := range map[string]Time{
		"":                     {},
		"\x08\x00":             Unix(0, 0),
		"\x08\x05":             Unix(5, 0),
		"\x08\x85\x01":         Unix(133, 0),
		"\x08\x05\x10\x00":     Unix(5, 0),
		"\x08\x05\x10\x07":     Unix(5, 0),
		"\x08\x05\x10\x87\x01": Unix(5, 0),
		"\x10\x07\x08\x05":     Unix(5, 0),
		"\x08\x05\x08\x06":     Unix(6, 0),
		"\x10\x07":             Unix(0, 0),
		"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01": Unix(-1, 0),
	} {
		var s sparse
		if err := Unmarshal(AppendString(nil, 8, in), unsafe.Pointer(&s), &sparseTable); err != nil || s.When != want {
			t.Errorf("time %q: %v, want %v, %v", in, s.When, want, err)
		}
	}

	for _, in := range []string{"\x08", "\x08\x80", "\x08\x05\x10", "\x08\x05\x10\x80",
		"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02"} {
		var s sparse
		if Unmarshal(AppendString(nil, 8, in), unsafe.Pointer(&s), &sparseTable) == nil {
			t.Errorf("time %q is taken", in)
		}
	}

	for _, in := range []string{"\x0a", "\x0a\x02k", "\x0a\x01k\x12", "\x0a\x01k\x12\x02v", "\x0a\x7fk\x12"} {
		var s sparse
		if Unmarshal(AppendString(nil, 3, in), unsafe.Pointer(&s), &sparseTable) == nil {
			t.Errorf("entry %q is taken", in)
		}
	}
}
