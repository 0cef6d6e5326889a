package envelope

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

// IsJSON reports whether a guest's object is JSON and no message, which can't begin so.
func IsJSON(object []byte) bool { return len(object) > 0 && object[0] == '{' }

// ScaleJSON is a scale as custom resources take it: they know no protobuf.
func ScaleJSON(raw []byte) ([]byte, error) {
	var s autoscalingv1.Scale
	if err := s.Unmarshal(raw); err != nil {
		return nil, fmt.Errorf("the scale: %w", err)
	}
	s.APIVersion, s.Kind = "autoscaling/v1", "Scale"
	return json.Marshal(&s)
}

// UnwrapAny opens an answer with metadata, or a scale, in the envelope of protobuf, or in JSON, which it turns into
// protobuf.
func UnwrapAny(b []byte) (apiVersion, kind string, raw []byte, err error) {
	if !bytes.HasPrefix(bytes.TrimLeft(b, " \r\n\t"), []byte("{")) {
		return Unwrap(b)
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
		return UnwrapAny(b)
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

// StatusUID reads the UID of the object that a Status speaks of.
func StatusUID(raw []byte) string {
	var status metav1.Status
	if err := status.Unmarshal(raw); err != nil || status.Details == nil {
		return ""
	}
	return string(status.Details.UID)
}
