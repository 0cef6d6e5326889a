package effects

import (
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/host/schema"
)

// fieldBody is the JSON of an object that isn't built in; what else it has is metadata.
const fieldBody = 2

// put makes an object on the wire the body of a request: in protobuf, or in JSON where the resource isn't built in.
func (r *request) put(res *schema.Resource, subresource string, object []byte) (err error) {
	v, kind := bodyType(res, subresource)
	if !res.Custom {
		r.body = wrap(v, kind, object)
		return nil
	}
	r.contentType = runtime.ContentTypeJSON
	switch {
	case subresource == "scale":
		r.body, err = scaleJSON(object)
	case ownBody(subresource):
		err = fmt.Errorf("%s has no %s: it isn't built in", res.Resource, subresource)
	default:
		r.body, err = res.JSON(object)
	}
	return err
}

// unwrapCustom opens an answer in JSON about a resource that isn't built in: an object or a list of them, or a Status, a Scale.
func unwrapCustom(b []byte) (apiVersion, kind string, raw []byte, err error) {
	var t struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata"`
		Items           *[]json.RawMessage `json:"items"`
	}
	err = json.Unmarshal(b, &t)
	switch {
	case err != nil:
	case t.Kind == "Status" && t.APIVersion == "v1", t.Kind == "Scale" && t.APIVersion == "autoscaling/v1":
		return unwrapAny(b)
	case t.Items == nil:
		raw, _, _, err = schema.FromJSON(nil, b, nil)
	default:
		var meta []byte
		if meta, err = t.ListMeta.Marshal(); err != nil {
			break
		}
		raw = wire.AppendBytes(nil, listMeta, meta)
		for _, item := range *t.Items {
			var start int
			raw, start = wire.Begin(raw, listItems)
			if raw, _, _, err = schema.FromJSON(raw, item, nil); err != nil {
				break
			}
			raw = wire.End(raw, start)
		}
	}
	if err != nil {
		return "", "", nil, fmt.Errorf("the server's answer: %w", err)
	}
	return t.APIVersion, t.Kind, raw, nil
}

// acceptedBody is accepted of an object that isn't built in, whose status is in the body.
func acceptedBody(answer, sent []byte, subresource string) ([]byte, error) {
	if subresource != "" && subresource != "status" {
		return nil, errors.New("another subresource")
	}
	meta := sent
	if subresource == "status" {
		meta = answer
	}
	out, err := pick(nil, meta, func(n int32) bool { return n != fieldBody })
	if err != nil {
		return nil, err
	}
	out, start := wire.Begin(out, fieldBody)
	b := &object{out: append(out, '{')}
	for _, from := range []struct {
		raw    []byte
		status bool
	}{{sent, subresource == "status"}, {answer, subresource != "status"}} {
		members, err := membersIn(from.raw)
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			if (m.name == "status") == from.status {
				b.add(m.name, m.value)
			}
		}
	}
	return wire.End(append(b.out, '}'), start), nil
}

// membersIn gives the members of an object's body.
func membersIn(raw []byte) ([]property, error) {
	parts, err := split(raw)
	if err != nil {
		return nil, err
	}
	return members(bodyOf(only(parts, fieldBody)))
}

// bodyOf is the text in the field, which an object may lack.
func bodyOf(parts []part) []byte {
	if len(parts) == 0 || len(lastValue(parts)) == 0 {
		return []byte("{}")
	}
	return lastValue(parts)
}
