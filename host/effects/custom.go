package effects

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/host/schema"
)

// putBody makes an object on the wire the body of a request: in protobuf, or in JSON where the resource isn't built in.
func (r *request) putBody(res *schema.Resource, subresource string, object []byte) (err error) {
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

// unwrapCustom opens an answer in JSON about a resource that isn't built in: an object or a list of them, or a Status,
// a Scale.
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
