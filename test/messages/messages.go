// Package messages makes up messages for tests: what a module may answer, perform or say in its manifest, some of which
// could be meant well.
package messages

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"

	corev1 "k8s.io/api/core/v1"

	"github.com/windlass-dev/windlass/abi"
)

// Author makes up messages: some of what is in them could be meant well.
type Author struct {
	*rand.Rand
	About *corev1.ConfigMap // an object that there is
}

// NewAuthor returns an author whose messages follow from the seed.
func NewAuthor(seed uint64, about *corev1.ConfigMap) *Author {
	return &Author{rand.New(rand.NewPCG(seed, 1)), about}
}

// Effect makes up one effect of a kind, of which at least the resource is often one that there is.
func (r *Author) Effect(kind abi.EffectKind) []abi.Effect {
	var e abi.Effect
	r.Fill(&e, 2)
	e.Kind = kind
	if kind == abi.EffectGroup {
		e.Members = append(r.Effect(pick(r, abi.EffectGet, abi.EffectPatch, abi.EffectCreate)), r.Effect(abi.EffectList)...)
	} else if r.IntN(4) > 0 {
		e.Members = nil
	}
	return []abi.Effect{e}
}

// meant returns what a field of a message should hold to be of effect.
func (r *Author) meant(field string) (text string, ok bool) {
	o := r.About
	text, ok = map[string]string{"Resource": "v1/configmaps", "Subresource": "", "Namespace": o.Namespace, "Name": o.Name,
		"UID": string(o.UID), "Version": o.ResourceVersion, "Path": "/apis/apps/v1/deployments", "Kind": "ConfigMap",
		"APIVersion": "v1"}[field]
	return text, ok && r.IntN(8) > 0
}

// Fill puts something into each field of the message that this points to, so deep at most.
func (r *Author) Fill(message any, deep int) { r.fill(reflect.ValueOf(message).Elem(), deep) }

// fill puts something into each field; lists and what they hold are so deep at most.
func (r *Author) fill(v reflect.Value, deep int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if text, ok := r.meant(v.Type().Field(i).Name); ok && v.Field(i).Kind() == reflect.String {
				v.Field(i).SetString(text)
			} else {
				r.fill(v.Field(i), deep)
			}
		}
	case reflect.Pointer:
		if deep > 0 && r.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			r.fill(v.Elem(), deep-1)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(r.bytes())
		} else if deep > 0 {
			n := r.IntN(4)
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				r.fill(v.Index(i), deep-1)
			}
		}
	case reflect.String:
		v.SetString(r.text())
	case reflect.Bool:
		v.SetBool(r.IntN(3) == 0)
	case reflect.Float64:
		v.SetFloat(pick(r, 0, 1, -1, math.NaN(), math.Inf(1), math.MaxFloat64))
	default:
		n := pick(r, int64(r.IntN(4)), int64(r.IntN(4)), int64(r.IntN(25)), -1, math.MaxInt64, math.MinInt64)
		if v.Kind() == reflect.Int32 {
			n = int64(int32(n))
		}
		v.SetInt(n)
	}
}

// pick returns one of all.
func pick[T any](r *Author, all ...T) T { return all[r.IntN(len(all))] }

func (r *Author) text() string {
	o := r.About
	return pick(r, "", "", "v1/configmaps", "v1/configmaps", "v1/configmaps", o.Namespace, o.Namespace, "kube-system",
		o.Name, o.Name,
		string(o.UID), o.ResourceVersion, "v1/pods", "v1/pods/eviction", "status", "metadata.name", "metadata.labels[a]",
		"authorization.k8s.io/v1/subjectaccessreviews", "Europe/Rome", "/apis/apps/v1/deployments?limit=1", "../..",
		"a/../b", "a%2fb", "\xff\xfe", "\x00", "\n\x1b[2J", string(make([]byte, 300)), string(make([]byte, 70_000)))
}

func (r *Author) bytes() []byte {
	o := r.About
	object, err := o.Marshal()
	if err != nil {
		panic(err)
	}
	some := make([]byte, r.IntN(100))
	for i := range some {
		some[i] = byte(r.Uint32())
	}
	cut := object[:r.IntN(len(object))]
	return pick(r, nil, some, object, cut, append(append([]byte{}, object...), some...),
		[]byte(`[{"op":"add","path":"/metadata/labels","value":null},{"op":"add","path":"/metadata/labels/a","value":"b"}]`),
		[]byte(`[{"op":"test"}]`), []byte(`{"metadata":{"labels":{"a":"b"}}}`), []byte(`{"metadata":[]}`), []byte(`{`),
		fmt.Appendf(nil, `{"kind":"ConfigMap","metadata":{"name":%q,"namespace":%q},"data":{"a":"b"}}`, o.Name, o.Namespace))
}
