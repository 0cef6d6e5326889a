package module

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	wholejson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/dump"

	"github.com/windlass-dev/windlass/host/sandbox"
	hostschema "github.com/windlass-dev/windlass/host/schema"
)

// Helpers are the pure functions that a guest borrows from the host, for what it can't carry itself: what comes of
// k8s.io/api's own Go types by reflection. They are listed by the name of their import from module "windlass". An
// argument is a head, a newline and a body; a result is a byte that is 0, and what was asked for, or 1, and what was
// wrong.
//
//   - json_form: head "group/version/Kind" (core: "v1/Kind"; also "v1/PodTemplateSpec"), body protobuf; gives JSON with
//     sorted keys, as encoding/json prints the type and then, once more, what it read of that. With " floats" behind
//     the head numbers go through float64, as they do where upstream reads them into an any.
//   - protobuf_form: the same head, body JSON; gives protobuf.
//   - template_hash: head a collision count or nothing, body a v1/PodTemplateSpec; gives upstream's hash of it in a
//     name (controller.ComputeHash).
//   - x509: head "certificate", "request" or "signed request", body PEM of at most 2 MiB; gives an [abi.X509].
var Helpers = map[string]sandbox.Helper{
	"json_form":     wrapHelper(jsonForm),
	"protobuf_form": wrapHelper(protobufForm),
	"template_hash": wrapHelper(templateHash),
	"x509":          wrapHelper(parseX509),
}

// CallHelper calls one of [Helpers], for plugins that run natively: see sdk.Helpers.
func CallHelper(name string, argument []byte) []byte { return Helpers[name](argument) }

func wrapHelper(f func(head string, body []byte) ([]byte, error)) sandbox.Helper {
	return func(argument []byte) []byte {
		head, body, ok := bytes.Cut(argument, []byte("\n"))
		if !ok {
			return append([]byte{1}, "the argument has no newline behind its head"...)
		}
		result, err := f(string(head), body)
		if err != nil {
			return append([]byte{1}, err.Error()...)
		}
		return append([]byte{0}, result...)
	}
}

// message is what every type of k8s.io/api can do.
type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// newObject returns an object of the kind, or the one part of objects that is asked for by itself.
func newObject(kind string) (message, error) {
	if kind == "v1/PodTemplateSpec" {
		return &corev1.PodTemplateSpec{}, nil
	}
	var gvk schema.GroupVersionKind
	switch parts := bytes.Split([]byte(kind), []byte("/")); len(parts) {
	case 2:
		gvk = schema.GroupVersionKind{Version: string(parts[0]), Kind: string(parts[1])}
	case 3:
		gvk = schema.GroupVersionKind{Group: string(parts[0]), Version: string(parts[1]), Kind: string(parts[2])}
	default:
		return nil, fmt.Errorf("kind %q: want group/version/Kind, or v1/Kind", kind)
	}
	o, err := scheme.Scheme.New(gvk)
	if runtime.IsNotRegisteredError(err) {
		return nil, fmt.Errorf("kind %q isn't built in", kind)
	} else if err != nil {
		return nil, err
	}
	m, ok := o.(message)
	if !ok {
		return nil, fmt.Errorf("kind %q has no protobuf form", kind)
	}
	return m, nil
}

func jsonForm(head string, body []byte) ([]byte, error) {
	kind, floats := bytes.CutSuffix([]byte(head), []byte(" floats"))
	m, err := newObject(string(kind))
	if err != nil {
		return nil, err
	}
	if err := unmarshal(m, body, decodedMax); err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	b, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	var keys map[string]any
	if floats {
		err = json.Unmarshal(b, &keys)
	} else {
		err = wholejson.Unmarshal(b, &keys)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(keys)
}

func protobufForm(kind string, body []byte) ([]byte, error) {
	m, err := newObject(kind)
	if err != nil {
		return nil, err
	}
	described, err := hostschema.MessageOf(reflect.TypeOf(m).Elem())
	if err != nil {
		return nil, err
	}
	if json.Valid(body) { // else the error is the decoder's, which looks before it decodes
		if _, err := described.DecodedJSONSize(body, decodedMax); err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
	}
	if err := json.Unmarshal(body, m); err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return m.Marshal()
}

func templateHash(count string, body []byte) ([]byte, error) {
	var t corev1.PodTemplateSpec
	if err := unmarshal(&t, body, decodedMax); err != nil {
		return nil, fmt.Errorf("v1/PodTemplateSpec: %w", err)
	}
	h := fnv.New32a()
	h.Write([]byte(dump.ForHash(t)))
	if count != "" {
		n, err := strconv.ParseInt(count, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("collision count: %w", err)
		}
		var b [8]byte // four of which are always 0
		binary.LittleEndian.PutUint32(b[:], uint32(n))
		h.Write(b[:])
	}
	return []byte(rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10))), nil
}

// decodedMax bounds what helpers make of an argument, in bytes of memory: of two bytes comes a container of a kilobyte.
// What the API server admits is smaller: a template of 1.5 MB, of which each port is small, takes 14 MB.
const decodedMax = 16 << 20

// unmarshal reads bytes that a guest gave: generated code is trusted with what API servers send.
func unmarshal(m message, b []byte, most int) (err error) {
	described, err := hostschema.MessageOf(reflect.TypeOf(m).Elem())
	if err != nil {
		return err
	}
	if _, err := described.DecodedSize(b, most); err != nil {
		return err
	}

	defer func() {
		if x := recover(); x != nil {
			err = errors.New("malformed protobuf")
		}
	}()
	return m.Unmarshal(bytes.Clone(b)) // its strings must not be the guest's memory
}
