package envelope

import (
	"bytes"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/abi/wire"
)

// Protobuf is the content type of objects in the envelope.
const Protobuf = runtime.ContentTypeProtobuf

// Accepted are the forms of an answer. Refusals on the way (authentication, proxies) come as JSON whatever was asked
// for.
const Accepted = Protobuf + "," + runtime.ContentTypeJSON

// magic begins each Kubernetes protobuf message; after it comes a runtime.Unknown.
var magic = []byte{'k', '8', 's', 0}

// The fields of runtime.Unknown and its TypeMeta.
const (
	unknownType = 1
	unknownRaw  = 2
	typeVersion = 1
	typeKind    = 2
)

// IsProtobuf reports whether bytes begin as the envelope does.
func IsProtobuf(b []byte) bool { return bytes.HasPrefix(b, magic) }

// Wrap puts an object's bytes into the envelope in which Kubernetes sends protobuf.
func Wrap(apiVersion, kind string, raw []byte) []byte {
	out := make([]byte, 0, len(magic)+len(apiVersion)+len(kind)+len(raw)+4*tagMost)
	out = append(out, magic...)
	out, start := wire.Begin(out, unknownType)
	out = wire.AppendString(out, typeVersion, apiVersion)
	out = wire.AppendString(out, typeKind, kind)
	out = wire.End(out, start)
	return wire.AppendBytes(out, unknownRaw, raw)
}

// Unwrap opens the envelope.
func Unwrap(b []byte) (apiVersion, kind string, raw []byte, err error) {
	rest, ok := bytes.CutPrefix(b, magic)
	if !ok {
		return "", "", nil, fmt.Errorf("the server's answer is not Kubernetes protobuf: it begins with %q",
			b[:min(len(b), 16)])
	}

	var types []byte
	f := wire.Fields{Data: rest}
	for f.Next() {
		switch f.Num {
		case unknownType:
			types = f.Bytes
		case unknownRaw:
			raw = f.Bytes
		}
	}

	if f.Err != 0 {
		return "", "", nil, fmt.Errorf("the server's answer: field at byte %d: %w", f.End, f.Err)
	}
	t := wire.Fields{Data: types}
	for t.Next() {
		switch t.Num {
		case typeVersion:
			apiVersion = string(t.Bytes)
		case typeKind:
			kind = string(t.Bytes)
		}
	}

	if t.Err != 0 {
		return "", "", nil, fmt.Errorf("the type of the server's answer: field at byte %d: %w", t.End, t.Err)
	}
	return apiVersion, kind, raw, nil
}
