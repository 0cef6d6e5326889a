package effects

import (
	"bytes"
	"encoding/json"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/host/schema"
)

const protobuf = runtime.ContentTypeProtobuf

// accepted are the forms of an answer. Refusals on the way (authentication, proxies) come as JSON whatever was asked
// for.
const accepted = protobuf + "," + runtime.ContentTypeJSON

// How metadata alone is asked for; of a server that has no protobuf, such as one behind the aggregator may be, it comes
// as JSON.
const (
	metadataForm     = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	metadataListForm = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	acceptMetadata   = protobuf + metadataForm + "," + runtime.ContentTypeJSON + metadataForm + "," +
		runtime.ContentTypeJSON
	acceptMetadatas = protobuf + metadataListForm + "," + runtime.ContentTypeJSON + metadataListForm + "," +
		runtime.ContentTypeJSON
)

// acceptList is what a list is asked for in, other than protobuf.
func acceptList(res *schema.Resource) string {
	switch {
	case res.Partial:
		return acceptMetadatas
	case res.Custom:
		return runtime.ContentTypeJSON
	}
	return ""
}

// unwrapOf opens the answer about a resource. Of a built-in one's whole objects there is no other form than protobuf,
// of those of any other none but JSON.
func unwrapOf(res *schema.Resource, b []byte) (apiVersion, kind string, raw []byte, err error) {
	switch {
	case res.Partial:
		return unwrapAny(b)
	case res.Custom && !bytes.HasPrefix(b, magic):
		return unwrapCustom(b)
	}
	return unwrap(b)
}

// unwrapList opens the answer to the deletion of a collection, of which the metadata is enough.
func unwrapList(res *schema.Resource, b []byte) (apiVersion, kind string, raw []byte, err error) {
	if res.Partial || res.Custom {
		return unwrapAny(b)
	}
	return unwrap(b)
}

// unwrapAny opens an answer with metadata, or a scale, in the envelope of protobuf, or in JSON, which it turns into
// protobuf.
func unwrapAny(b []byte) (apiVersion, kind string, raw []byte, err error) {
	if !bytes.HasPrefix(bytes.TrimLeft(b, " \r\n\t"), []byte("{")) {
		return unwrap(b)
	}
	var t struct {
		metav1.TypeMeta `json:",inline"`
		Items           *json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(b, &t); err != nil {
		return "", "", nil, fmt.Errorf("the server's answer: %w", err)
	}

	var o interface {
		runtime.Object
		Marshal() ([]byte, error)
	}
	switch {
	case t.Kind == "Status" && t.APIVersion == "v1":
		o = &metav1.Status{}
	case t.Kind == "Scale" && t.APIVersion == "autoscaling/v1":
		o = &autoscalingv1.Scale{}
	case t.Items != nil:
		o = &metav1.PartialObjectMetadataList{}
	default:
		o = &metav1.PartialObjectMetadata{}
	}

	if err := json.Unmarshal(b, o); err != nil {
		return "", "", nil, fmt.Errorf("the server's answer: %w", err)
	}
	raw, err = o.Marshal()
	return t.APIVersion, t.Kind, raw, err
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

// scaleJSON is a scale as custom resources take it: they know no protobuf.
func scaleJSON(raw []byte) ([]byte, error) {
	var s autoscalingv1.Scale
	if err := s.Unmarshal(raw); err != nil {
		return nil, fmt.Errorf("the scale: %w", err)
	}
	s.APIVersion, s.Kind = "autoscaling/v1", "Scale"
	return json.Marshal(&s)
}

// isJSON reports whether a guest's object is JSON and no message, which can't begin so.
func isJSON(object []byte) bool { return len(object) > 0 && object[0] == '{' }

// listed is a list as it comes over the wire.
type listed struct {
	version, next string
	items         [][]byte
}

// The fields of a list and its ListMeta.
const (
	listMeta     = 1
	listItems    = 2
	listVersion  = 2
	listContinue = 3
)

func readList(raw []byte) (listed, error) {
	var l listed
	f := wire.Fields{Data: raw}
	for f.Next() {
		switch f.Num {
		case listMeta:
			m := wire.Fields{Data: f.Bytes}
			for m.Next() {
				switch m.Num {
				case listVersion:
					l.version = string(m.Bytes)
				case listContinue:
					l.next = string(m.Bytes)
				}
			}
			if m.Err != 0 {
				return l, fmt.Errorf("the server's list: field at byte %d: %w", m.End, m.Err)
			}
		case listItems:
			l.items = append(l.items, f.Bytes)
		}
	}
	if f.Err != 0 {
		return l, fmt.Errorf("the server's list: field at byte %d: %w", f.End, f.Err)
	}
	return l, nil
}
