package effects

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// builtin reports whether the host knows the type of a resource's objects.
func builtin(r abi.Resource) bool {
	_, err := schema.For(r)
	return err == nil
}

// resolveForm returns the resource as the effect wants it: with metadata alone where it says so, and with a kind where
// one is sent.
func (s *Session) resolveForm(ctx context.Context, e *abi.Effect, res *schema.Resource) (*schema.Resource, error) {
	switch {
	case res.Custom && res.Kind == "" && sendsKind(e):
		return s.w.Discovery.Resource(ctx, res.Resource)
	case !res.Partial && e.Metadata:
		return schema.Partial(res.Resource, res.Kind, res.Namespaced), nil
	}
	return res, nil
}

// sendsKind reports whether the server is sent the kind of the effect's resource.
func sendsKind(e *abi.Effect) bool {
	switch e.Kind {
	case abi.EffectCreate, abi.EffectUpdate:
		return !ownBody(e.Subresource)
	case abi.EffectApply:
		return !isJSON(e.Object)
	}
	return e.Kind == abi.EffectEvent
}

// isJSON reports whether a guest's object is JSON and no message, which can't begin so.
func isJSON(object []byte) bool { return len(object) > 0 && object[0] == '{' }

// metadataOf reports why an effect can't be done on the metadata of objects alone, where that is asked for.
func metadataOf(e *abi.Effect) error {
	if !e.Metadata {
		return nil
	}
	switch e.Kind {
	case abi.EffectGet, abi.EffectList, abi.EffectPatch, abi.EffectDelete, abi.EffectDeleteCollection:
	default:
		return fmt.Errorf("metadata alone can be got, listed, patched and deleted")
	}
	if ownBody(e.Subresource) {
		return fmt.Errorf("a %s has no metadata of its own", e.Subresource)
	}
	return nil
}

// projectAnswer projects an answer: an object, or an object's metadata, to what the controller reads of it.
func (w *Writer) projectAnswer(r abi.Resource, metadata bool, raw []byte) ([]byte, error) {
	if !metadata {
		return w.project(r, raw)
	}
	mask := w.Seen(schema.Any)
	if mask == nil {
		mask = w.Seen(r)
	}
	if mask == nil {
		mask = schema.Partial(schema.Any, "", true).Message.Whole()
	}
	return mask.Project(nil, raw)
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

// scaleJSON is a scale as custom resources take it: they know no protobuf.
func scaleJSON(raw []byte) ([]byte, error) {
	var s autoscalingv1.Scale
	if err := s.Unmarshal(raw); err != nil {
		return nil, fmt.Errorf("the scale: %w", err)
	}
	s.APIVersion, s.Kind = "autoscaling/v1", "Scale"
	return json.Marshal(&s)
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
