package effects

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/apiserver"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/schema"
)

func (s *Session) request(e *abi.Effect, res *schema.Resource, method, verb string) *apiserver.Request {
	r := &apiserver.Request{
		Method: method, Verb: verb, Resource: res.Resource, Subresource: e.Subresource, Namespace: e.Namespace, Name: e.Name,
		ContentType: envelope.Protobuf, Params: s.w.writeParams(e), Foreign: !builtin(res.Resource),
	}
	if method == "GET" { // what a write is answered with is no larger than what was written
		r.Hold = s.hold
	}
	switch {
	case ownBody(e.Subresource):
	case res.Partial:
		r.Accept = envelope.AcceptMetadata
	case res.Custom:
		r.Accept = runtime.ContentTypeJSON
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
func putBody(r *apiserver.Request, res *schema.Resource, subresource string, object []byte) (err error) {
	v, kind := bodyType(res, subresource)
	if !res.Custom {
		r.Body = envelope.Wrap(v, kind, object)
		return nil
	}
	r.ContentType = runtime.ContentTypeJSON
	switch {
	case subresource == "scale":
		r.Body, err = envelope.ScaleJSON(object)
	case ownBody(subresource):
		err = fmt.Errorf("%s has no %s: it isn't built in", res.Resource, subresource)
	default:
		r.Body, err = res.JSON(object)
	}
	return err
}
