package conformance

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/test/worlds"
)

// Whatever the bytes: an error, or an object that is the same after being written and read again.
func FuzzDecodeNeverPanics(f *testing.F) {
	for i := 0; i < len(types); i += 7 {
		b, err := types[i].randomMessage(int64(i)).Marshal()
		if err == nil {
			f.Add(uint16(i), b)
		}
	}
	f.Fuzz(func(t *testing.T, which uint16, b []byte) {
		p := &types[int(which)%len(types)]
		if err := p.checkStable(b); err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
	})
}

// checkStable checks that what can be read is the same after being written and read again.
func (p *pair) checkStable(b []byte) error {
	o := p.t.New(nil, 0, 1)
	if wire.Unmarshal(b, o, p.t) != nil {
		return nil
	}
	again := p.t.New(nil, 0, 1)
	if err := wire.Unmarshal(wire.Append(nil, o, p.t), again, p.t); err != nil {
		return fmt.Errorf("what we wrote can't be read: %w", err)
	}
	if !wire.Equal(o, again, p.t) {
		return fmt.Errorf("differs after being written and read: %x", b)
	}
	wire.AppendJSON(nil, o, p.t)
	return nil
}

// Objects of every type with bytes changed, left out and cut off: what the fuzz target finds in hours, a little of it
// in every test run.
func TestDamagedBytes(t *testing.T) {
	for i := range types {
		p := &types[i]
		r := rand.New(rand.NewSource(int64(i)))
		b, err := p.randomMessage(int64(i)).Marshal()
		if err != nil || len(b) == 0 {
			continue
		}

		for range worlds.Number(100) {
			d := append([]byte(nil), b...)
			for range 1 + r.Intn(4) {
				at := r.Intn(len(d))
				switch r.Intn(4) {
				case 0:
					d[at] = byte(r.Intn(256))
				case 1:
					d[at] ^= 1 << r.Intn(8)
				case 2:
					d = append(d[:at], d[at+1:]...)
				case 3:
					d = d[:at]
				}
				if len(d) == 0 {
					break
				}
			}
			if err := p.checkStable(d); err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
		}
	}
}

// Whatever the text: an error, or an object whose JSON is JSON and reads the same.
func FuzzJSONNeverPanics(f *testing.F) {
	for i := 0; i < len(types); i += 7 {
		b, err := json.Marshal(types[i].randomMessage(int64(i)))
		if err == nil {
			f.Add(uint16(i), b)
		}
	}

	f.Add(uint16(3), []byte(`{"spec":{"x":[1,{"y":"\ud83d\ude00\n"}]},"metadata":null,"unknown":-1.5e3}`))
	f.Fuzz(func(t *testing.T, which uint16, b []byte) {
		p := &types[int(which)%len(types)]
		o := p.t.New(nil, 0, 1)
		if wire.UnmarshalJSON(b, o, p.t) != nil {
			return
		}
		if !json.Valid(b) {
			t.Fatalf("%s: taken for JSON: %q", p.name, b)
		}
		out := wire.AppendJSON(nil, o, p.t)
		if !json.Valid(out) {
			t.Fatalf("%s: no JSON: %q", p.name, out)
		}
		again := p.t.New(nil, 0, 1)
		if err := wire.UnmarshalJSON(out, again, p.t); err != nil {
			t.Fatalf("%s: what we wrote can't be read: %v", p.name, err)
		}
		if !wire.Equal(o, again, p.t) {
			t.Fatalf("%s differs after being written and read: %q", p.name, out)
		}
	})
}

// What a newer API server adds anywhere in an object, between and behind the fields known here, is there after a change
// of the object.
func TestUnknownFieldsSurvive(t *testing.T) {
	for i := range types {
		p := &types[i]
		m := p.randomMessage(3)
		b, err := m.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		newer, n := injectUnknown(b, p.t)
		o := p.t.New(nil, 0, 1)
		if err := wire.Unmarshal(newer, o, p.t); err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		c := p.t.New(nil, 0, 1)
		wire.Clone(c, o, p.t)
		out := wire.Append(nil, c, p.t)
		if got := countUnknown(out, p.t); got != n {
			t.Errorf("%s: %d of %d unknown fields are left", p.name, got, n)
		}
		back := p.newMessage()
		if err := back.Unmarshal(out); err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		if !equality.Semantic.DeepEqual(m, back) {
			t.Errorf("%s: known fields differ: %s", p.name, diffJSON(m, back))
		}
	}
}

const newNumber = 4711

// injectUnknown puts unknown fields into every message that can keep them: one behind the first field, one of bytes at
// the end.
func injectUnknown(b []byte, t *wire.Type) (out []byte, n int) {
	f := wire.Fields{Data: b}
	first := true
	for f.Next() {
		if e := elementTable(t, f.Num); e != nil && f.Type == wire.WireBytes {
			inner, k := injectUnknown(f.Bytes, e)
			out, n = wire.AppendBytes(out, f.Num, inner), n+k
		} else {
			out = append(out, f.Raw()...)
		}
		if first && t.Spare > 0 {
			out, n, first = wire.AppendUint(out, newNumber, 1<<40), n+1, false
		}
	}
	if t.Spare > 0 {
		out, n = wire.AppendString(out, newNumber+1, "kept"), n+1
	}
	return out, n
}

func countUnknown(b []byte, t *wire.Type) (n int) {
	f := wire.Fields{Data: b}
	for f.Next() {
		if f.Num == newNumber && f.Uint == 1<<40 || f.Num == newNumber+1 && f.String() == "kept" {
			n++
		}
		if e := elementTable(t, f.Num); e != nil {
			n += countUnknown(f.Bytes, e)
		}
	}
	return n
}

func elementTable(t *wire.Type, num uint32) *wire.Type {
	for i := range t.Fields {
		if f := &t.Fields[i]; f.Num == num && f.Kind&0x0f == wire.Message {
			if f.Elem == nil {
				return t
			}
			return f.Elem
		}
	}
	return nil
}

// Members that no field is for survive in JSON, wherever they are.
func TestUnknownMembersSurvive(t *testing.T) {
	const in = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","new":[1,{"x":null}]},` +
		`"spec":{"replicas":3,"selector":{},"template":{"metadata":{},"spec":{"containers":[{"name":"c","new":"\u00e4","resources":{}}],"newer":{"deep":{"er":1.50}}}}},"last":true}`
	p := findPair(t, "apps/v1 Deployment")
	o := p.t.New(nil, 0, 1)
	if err := wire.UnmarshalJSON([]byte(in), o, p.t); err != nil {
		t.Fatal(err)
	}

	c := p.t.New(nil, 0, 1)
	wire.Clone(c, o, p.t)
	out := wire.AppendJSON(nil, c, p.t)
	var doc struct {
		Kind     string
		Last     bool
		Metadata struct{ New []any }
		Spec     struct {
			Selector *struct{}
			Template struct {
				Spec struct {
					Containers []struct{ New string }
					Newer      struct{ Deep map[string]float64 }
				}
			}
		}
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	s := doc.Spec.Template.Spec
	if doc.Kind != "Deployment" || !doc.Last || len(doc.Metadata.New) != 2 || s.Containers[0].New != "ä" ||
		s.Newer.Deep["er"] != 1.5 || doc.Spec.Selector == nil {
		t.Errorf("lost something: %s", out)
	}

	if b := wire.Append(nil, o, p.t); countUnknown(b, p.t) != 0 || len(unknown(o, p.t)) != 4 {
		t.Errorf("unknown members: %q", unknown(o, p.t))
	} else if again := p.t.New(nil, 0, 1); wire.Unmarshal(b, again, p.t) != nil || len(unknown(again, p.t)) != 0 {
		t.Errorf("JSON members in protobuf: %q", unknown(again, p.t))
	}
}

// A few bytes can't take many: two-byte elements that stand for structs of hundreds of bytes are refused beyond the
// bound.
func TestSmallElementsCannotEatMemory(t *testing.T) {
	p := findPair(t, "core/v1 PodSpec")
	bomb := make([]byte, 0, 1<<20)
	for len(bomb) < 1<<20 {
		bomb = append(bomb, 2<<3|2, 0) // an empty container
	}
	if err := wire.Unmarshal(bomb, p.t.New(nil, 0, 1), p.t); err != wire.ErrSize {
		t.Errorf("half a million containers in a megabyte: %v", err)
	}
	few := bomb[:200]
	o := p.t.New(nil, 0, 1)
	if err := wire.Unmarshal(few, o, p.t); err != nil {
		t.Errorf("a hundred empty containers: %v", err)
	}
	if got := wire.Append(nil, o, p.t); string(got) != string(few) {
		t.Errorf("a hundred empty containers came back as %x", got)
	}
}

func findPair(t *testing.T, name string) *pair {
	t.Helper()
	for i := range types {
		if types[i].name == name {
			return &types[i]
		}
	}
	t.Fatal("no type ", name)
	return nil
}
