package effects

import (
	"context"
	"encoding/json"
	"fmt"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

func groupResource(r abi.Resource) apischema.GroupResource {
	return apischema.GroupResource{Group: r.Group, Resource: r.Name}
}

// patchUpdate sends an update as a JSON Patch that first tests the version: for pods, which controllers may patch and
// not update.
func (s *Session) patchUpdate(ctx context.Context, e *abi.Effect, res *schema.Resource, k objectKey, b *base, p *plan,
	version, uid string) (abi.Outcome, error) {
	keeps := s.w.keepsPath(res.Resource)
	if b.whole {
		keeps = func(string) bool { return true } // the base is a live answer: it has all there is
	}
	operations, err := jsonPatch(res, b.raw, p.merged, keeps)
	if err != nil {
		return abi.Outcome{}, err
	}
	patch, err := json.Marshal(append(testOperations(version, uid), operations...))
	if err != nil {
		return abi.Outcome{}, err
	}
	r := s.request(e, res, "PATCH", "patch")
	r.contentType, r.body = string(types.JSONPatchType), patch
	a, err := s.sendWrite(ctx, e, r)
	if err != nil {
		if isFailedTest(err) {
			err = asConflict(res.Resource, e.Name, err)
		}
		return s.updateFailed(ctx, e, res, k, b, a, err)
	}
	return s.acceptWritten(e, res, a.body, clone(e.Object))
}

// patch sends a patch as the guest made it, with its preconditions added where it asks for some.
func (s *Session) patch(ctx context.Context, e *abi.Effect, res *schema.Resource) (abi.Outcome, error) {
	k := s.objectKeyOf(e, res)
	b := s.findBase(k)
	if b != nil && b.gone {
		return abi.Outcome{}, errGone(k)
	}

	r := s.request(e, res, "PATCH", "patch")
	var err error
	tested := false // the patch begins with a test of ours
	if e.Kind == abi.EffectApply {
		r.contentType = string(types.ApplyPatchType)
		r.params["force"] = "true" // a controller owns what it applies
		if r.params["fieldManager"] == "" {
			r.params["fieldManager"] = s.w.manager()
		}
		r.body, err = applyBody(res, e)
	} else {
		r.contentType = string(patchTypes[e.Patch])
		version, uid := expected(e, b, abi.PreconditionNone)
		tested = e.Patch == abi.JSONPatch && version+uid != ""
		r.body, err = withPreconditions(e.Patch, e.Object, version, uid)
	}

	if err != nil {
		return abi.Outcome{}, err
	}
	a, err := s.sendWrite(ctx, e, r)
	if err == nil {
		return s.acceptWritten(e, res, a.body, nil)
	}
	if tested && isFailedTest(err) {
		err = asConflict(res.Resource, e.Name, err)
	}
	if isStale(err) && b != nil && !k.scale {
		s.awaitNewer(k, b.version)
	}
	return abi.Outcome{}, err
}

// withPreconditions adds the version and UID that the object must have to a patch.
func withPreconditions(t abi.PatchType, patch []byte, version, uid string) ([]byte, error) {
	if version == "" && uid == "" {
		return patch, nil
	}
	if t == abi.JSONPatch {
		var operations []json.RawMessage
		if err := json.Unmarshal(patch, &operations); err != nil {
			return nil, fmt.Errorf("the JSON patch: %w", err)
		}
		all := make([]any, 0, len(operations)+2)
		for _, o := range testOperations(version, uid) {
			all = append(all, o)
		}
		for _, o := range operations {
			all = append(all, o)
		}
		return json.Marshal(all)
	}

	var object map[string]json.RawMessage
	if err := json.Unmarshal(patch, &object); err != nil {
		return nil, fmt.Errorf("the patch: %w", err)
	}

	metadata := map[string]json.RawMessage{}
	if m := object["metadata"]; m != nil {
		if err := json.Unmarshal(m, &metadata); err != nil {
			return nil, fmt.Errorf("the patch's metadata: %w", err)
		}
	}

	for field, value := range map[string]string{"resourceVersion": version, "uid": uid} {
		if value != "" {
			metadata[field], _ = json.Marshal(value)
		}
	}

	m, err := json.Marshal(metadata)
	if err != nil {
		return nil, err
	}
	if object == nil {
		object = map[string]json.RawMessage{}
	}
	object["metadata"] = m
	return json.Marshal(object)
}
