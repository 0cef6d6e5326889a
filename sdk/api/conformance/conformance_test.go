package conformance

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/test/worlds"
)

// pair is a type of k8s.io/api and the table of ours.
type pair struct {
	name string
	k8s  message
	t    *wire.Type
}

type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

func (p *pair) newMessage() message {
	return reflect.New(reflect.TypeOf(p.k8s).Elem()).Interface().(message)
}

// randomMessage makes an object of the pair's type that has everything, some things or next to nothing, after the seed.
func (p *pair) randomMessage(seed int64) message {
	r := rand.New(rand.NewSource(seed))
	m := p.newMessage()

	randfill.New().RandSource(r).NilChance([]float64{0, 0.3, 0.8}[uint64(seed)%3]).NumElements(0, 3).MaxDepth(14).Funcs(
		func(*metav1.TypeMeta, randfill.Continue) {},
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.NewTime(randomTime(c).Truncate(time.Second)) },
		func(t *metav1.MicroTime, c randfill.Continue) {
			*t = metav1.NewMicroTime(randomTime(c).Truncate(time.Microsecond))
		},
		// JSON can't tell a pointer to an unset time from none.
		func(t **metav1.Time, c randfill.Continue) {
			if m := metav1.NewTime(randomTime(c).Truncate(time.Second)); !m.IsZero() {
				*t = &m
			}
		},
		func(t **metav1.MicroTime, c randfill.Continue) {
			if m := metav1.NewMicroTime(randomTime(c).Truncate(time.Microsecond)); !m.IsZero() {
				*t = &m
			}
		},
		func(q *resource.Quantity, c randfill.Continue) {
			*q = resource.MustParse(quantities[c.Intn(len(quantities))])
		},
		func(x *intstr.IntOrString, c randfill.Continue) {
			if *x = intstr.FromInt32(c.Int31() - c.Int31()); c.Bool() {
				*x = intstr.FromString(c.String(8))
			}
		},
		func(x *runtime.RawExtension, c randfill.Continue) { x.Raw = document(c) },
		func(x *metav1.FieldsV1, c randfill.Continue) { x.SetRawBytes(document(c)) },
	).Fill(m)
	return m
}

var quantities = []string{"0", "1", "-1", "100m", "1500m", "1Gi", "1.5Gi", "128Mi", "2e3", "12E", "0.1", "1n",
	"999999999999k", "-3Ki"}

// randomTime returns an unset time, 1970, or any second that JSON can write.
func randomTime(c randfill.Continue) time.Time {
	switch c.Intn(6) {
	case 0:
		return time.Time{}
	case 1:
		return time.Unix(0, 0)
	}
	return time.Unix(c.Int63n(300e9)-60e9, c.Int63n(1e9))
}

func document(c randfill.Continue) []byte {
	b, err := json.Marshal(map[string]any{"a": c.Intn(9), "b": []any{c.Bool(), nil, "x"}})
	if err != nil {
		panic(err)
	}
	return b
}

// decode is ours of k8s.io/api's bytes, in which nothing may be unknown.
func (p *pair) decode(b []byte) (unsafe.Pointer, error) {
	o := p.t.New(nil, 0, 1)
	if err := wire.Unmarshal(b, o, p.t); err != nil {
		return nil, err
	}
	if u := unknown(o, p.t); len(u) > 0 {
		return nil, fmt.Errorf("the table lacks %q", u)
	}
	return o, nil
}

// unknown gathers what is in the XUnknown fields of an object.
func unknown(p unsafe.Pointer, t *wire.Type) (all []string) {
	if t.Spare > 0 {
		if s := *(*wire.Unknown)(unsafe.Add(p, t.Spare-1)); s != "" {
			all = append(all, string(s))
		}
	}

	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Kind&0x0f != wire.Message {
			continue
		}
		et, q := f.Elem, unsafe.Add(p, f.Offset)
		if et == nil {
			et = t
		}
		switch f.Kind &^ 0x0f {
		case 0:
			all = append(all, unknown(q, et)...)
		case wire.Ptr:
			if q = *(*unsafe.Pointer)(q); q != nil {
				all = append(all, unknown(q, et)...)
			}
		default:
			h := *(*struct {
				p      unsafe.Pointer
				n, cap int
			})(q)
			for k := range h.n {
				all = append(all, unknown(unsafe.Add(h.p, uintptr(k)*et.Size), et)...)
			}
		}
	}
	return all
}

// roundTrip checks that k8s.io/api's object goes through our types and back, in protobuf and in JSON.
func (p *pair) roundTrip(m message) error {
	b, err := m.Marshal()
	if err != nil {
		return nil // an object that Kubernetes itself can't write
	}
	o, err := p.decode(b)
	if err != nil {
		return fmt.Errorf("decoding protobuf: %w", err)
	}
	back := p.newMessage()
	if err := back.Unmarshal(wire.Append(nil, o, p.t)); err != nil {
		return fmt.Errorf("k8s.io/api can't read our protobuf: %w", err)
	}
	if !equality.Semantic.DeepEqual(m, back) {
		return fmt.Errorf("protobuf there and back differs: %s", diffJSON(m, back))
	}

	j, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encoding/json: %w", err)
	}
	fromJSON := p.t.New(nil, 0, 1)
	if err := wire.UnmarshalJSON(j, fromJSON, p.t); err != nil {
		return fmt.Errorf("decoding JSON: %w\n%s", err, j)
	}
	if u := unknown(fromJSON, p.t); len(u) > 0 {
		return fmt.Errorf("JSON: the table lacks %q", u)
	}
	ours := wire.AppendJSON(nil, o, p.t)
	if !wire.Equal(o, fromJSON, p.t) {
		return fmt.Errorf("JSON and protobuf of one object differ: %s",
			cmp.Diff(string(ours), string(wire.AppendJSON(nil, fromJSON, p.t))))
	}
	back = p.newMessage()
	if err := json.Unmarshal(ours, back); err != nil {
		return fmt.Errorf("encoding/json can't read our JSON: %w\n%s", err, ours)
	}
	if !equality.Semantic.DeepEqual(m, back) {
		return fmt.Errorf("JSON there and back differs: %s", diffJSON(m, back))
	}
	return p.checkClone(o)
}

// checkClone checks that a clone is equal and shares nothing that a change of the original would show in.
func (p *pair) checkClone(o unsafe.Pointer) error {
	before := wire.Append(nil, o, p.t)
	c := p.t.New(nil, 0, 1)
	wire.Clone(c, o, p.t)
	if !wire.Equal(o, c, p.t) {
		return fmt.Errorf("a clone isn't equal")
	}
	scribble(c, p.t)
	if after := wire.Append(nil, o, p.t); string(after) != string(before) {
		return fmt.Errorf("a change of a clone changes the original")
	}
	wire.Reset(c, p.t)
	if b := wire.Append(nil, c, p.t); len(b) > 0 {
		return fmt.Errorf("an object that was reset isn't empty: %x", b)
	}
	return nil
}

// scribble overwrites all that pointers and lists lead to.
func scribble(p unsafe.Pointer, t *wire.Type) {
	for i := range t.Fields {
		f := &t.Fields[i]
		q := unsafe.Add(p, f.Offset)
		et := f.Elem
		if et == nil {
			et = t
		}

		switch f.Kind {
		case wire.String:
			*(*string)(q) = "scribbled"
		case wire.Message:
			scribble(q, et)
		case wire.Ptr | wire.Message:
			if m := *(*unsafe.Pointer)(q); m != nil {
				scribble(m, et)
			}
		case wire.Ptr | wire.String:
			if s := *(**string)(q); s != nil {
				*s = "scribbled"
			}
		case wire.Ptr | wire.Bool:
			if s := *(**bool)(q); s != nil {
				*s = !*s
			}
		case wire.Ptr | wire.Int32:
			if s := *(**int32)(q); s != nil {
				*s++
			}
		case wire.Ptr | wire.Int64:
			if s := *(**int64)(q); s != nil {
				*s++
			}
		case wire.Bytes:
			for k := range *(*[]byte)(q) {
				(*(*[]byte)(q))[k]++
			}
		case wire.Rep | wire.String:
			for k := range *(*[]string)(q) {
				(*(*[]string)(q))[k] = "scribbled"
			}
		case wire.Rep | wire.Int32:
			for k := range *(*[]int32)(q) {
				(*(*[]int32)(q))[k]++
			}
		case wire.Rep | wire.Int64:
			for k := range *(*[]int64)(q) {
				(*(*[]int64)(q))[k]++
			}
		case wire.Rep | wire.Message, wire.Map | wire.Message:
			h := (*struct { // of this kind of field alone: what is shorter has no room for it
				p      unsafe.Pointer
				n, cap int
			})(q)
			for k := range h.n {
				scribble(unsafe.Add(h.p, uintptr(k)*et.Size), et)
			}
		}
	}
}

func diffJSON(a, b any) string {
	x, _ := json.MarshalIndent(a, "", " ")
	y, _ := json.MarshalIndent(b, "", " ")
	return cmp.Diff(strings.Split(string(x), "\n"), strings.Split(string(y), "\n"))
}

// Every type of every group keeps all that k8s.io/api's has, both ways, in protobuf and JSON.
func TestEveryTypeRoundTrips(t *testing.T) {
	for i := range types {
		p := &types[i]
		t.Run(p.name, func(t *testing.T) {
			for seed := range int64(worlds.Number(12)) {
				if err := p.roundTrip(p.randomMessage(seed)); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

// Each field of k8s.io/api's struct is in ours by name, number and JSON name, apart from chance.
func TestEveryFieldIsThere(t *testing.T) {
	for i := range types {
		p := &types[i]
		typ := reflect.TypeOf(p.k8s).Elem()
		byNumber := map[string]string{}
		for k := range p.t.Fields {
			byNumber[fmt.Sprint(p.t.Fields[k].Num)] = p.t.Fields[k].JSON
		}
		for k := range typ.NumField() {
			f := typ.Field(k)
			tag := f.Tag.Get("protobuf")
			if tag == "" {
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if got, ok := byNumber[strings.Split(tag, ",")[1]]; !ok || got != name {
				t.Errorf("%s.%s: JSON name %q, want %q", p.name, f.Name, got, name)
			}
		}
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add(uint16(0), int64(1))
	f.Add(uint16(300), int64(2))
	f.Fuzz(func(t *testing.T, which uint16, seed int64) {
		p := &types[int(which)%len(types)]
		if err := p.roundTrip(p.randomMessage(seed)); err != nil {
			t.Fatalf("%s, seed %d: %v", p.name, seed, err)
		}
	})
}
