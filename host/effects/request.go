package effects

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/schema"
)

func (s *Session) request(e *abi.Effect, res *schema.Resource, method, verb string) *request {
	r := &request{
		method: method, verb: verb, resource: res.Resource, subresource: e.Subresource, namespace: e.Namespace, name: e.Name,
		contentType: envelope.Protobuf, params: s.w.writeParams(e), foreign: !builtin(res.Resource),
	}
	switch {
	case ownBody(e.Subresource):
	case res.Partial:
		r.accept = envelope.AcceptMetadata
	case res.Custom:
		r.accept = runtime.ContentTypeJSON
	}
	return r
}

// writeParams returns the query parameters of a write.
func (w *Writer) writeParams(e *abi.Effect) map[string]string {
	p := map[string]string{}
	if e.DryRun {
		p["dryRun"] = metav1.DryRunAll
	}
	if w.FieldManager != "" {
		p["fieldManager"] = w.FieldManager
	}
	return p
}

func selectorParam(e *abi.Effect, params map[string]string) error {
	if e.Ask == nil || e.Ask.Selector == nil {
		return nil
	}
	var l metav1.LabelSelector
	if err := l.Unmarshal(e.Ask.Selector); err != nil {
		return fmt.Errorf("the selector: %w", err)
	}
	selector, err := metav1.LabelSelectorAsSelector(&l)
	if err != nil {
		return fmt.Errorf("the selector: %w", err)
	}
	params["labelSelector"] = selector.String()
	return nil
}

// putBody makes an object on the wire the body of a request: in protobuf, or in JSON where the resource isn't built in.
func (r *request) putBody(res *schema.Resource, subresource string, object []byte) (err error) {
	v, kind := bodyType(res, subresource)
	if !res.Custom {
		r.body = envelope.Wrap(v, kind, object)
		return nil
	}
	r.contentType = runtime.ContentTypeJSON
	switch {
	case subresource == "scale":
		r.body, err = envelope.ScaleJSON(object)
	case ownBody(subresource):
		err = fmt.Errorf("%s has no %s: it isn't built in", res.Resource, subresource)
	default:
		r.body, err = res.JSON(object)
	}
	return err
}
