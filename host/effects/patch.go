package effects

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/schema"
)

// patch sends a patch as the guest made it, with its preconditions added where it asks for some.
func (s *Session) patch(ctx context.Context, e *abi.Effect, res *schema.Resource) (abi.Outcome, error) {
	k := objectKeyOf(e, res)
	b := s.bases.find(k)
	if b != nil && b.gone {
		return abi.Outcome{}, errGone(k)
	}
	if e.Kind == abi.EffectApply && b == nil {
		if err := s.grantedUnseen(ctx, e, res); err != nil {
			return abi.Outcome{}, err
		}
	}

	r := s.request(e, res, "PATCH", "patch")
	var err error
	tested := false // the patch begins with a test of ours
	mine, from := mark{}, uncertain
	if e.Kind == abi.EffectApply {
		r.ContentType = string(types.ApplyPatchType)
		r.Params["force"] = "true" // a controller owns what it applies
		r.Params["fieldManager"] = s.w.Controller.Name
		r.Body, err = applyBody(res, e)
		if mine.uid = s.slowUID(ctx, e, res, r, b); mine.uid != "" && err == nil {
			mine.name = e.Name
			r.Body, err = withPreconditions(abi.MergePatch, r.Body, "", mine.uid)
		}
	} else {
		r.ContentType = string(patchTypes[e.Patch])
		version, uid := expected(e, b, abi.PreconditionNone)
		if version+uid == "" {
			uid = s.slowUID(ctx, e, res, r, b)
		}
		mine.uid, mine.version, mine.once, from = uid, version, version != "", demanded(version)
		if version+uid != "" {
			mine.name = e.Name
		}
		if version == "" && b != nil {
			mine.version = b.version // by which it is seen that it was done
		}
		tested = e.Patch == abi.JSONPatch && version+uid != ""
		r.Body, err = withPreconditions(e.Patch, e.Object, version, uid)
	}

	if err != nil {
		return abi.Outcome{}, err
	}
	a, err := s.sendWrite(ctx, e, r, &mine)
	if err == nil {
		return s.acceptWritten(e, res, from, a.body, nil)
	}
	if tested && isFailedTest(err) {
		err = asConflict(res.Resource, e.Name, err)
	}
	if isStale(err) && b != nil && !k.scale {
		s.awaitNewer(k, b.version)
	}
	return abi.Outcome{}, err
}

// applyBody is the body of a server-side apply: the guest's JSON, or the JSON of its wire bytes without what is unset.
func applyBody(res *schema.Resource, e *abi.Effect) ([]byte, error) {
	if envelope.IsJSON(e.Object) {
		return e.Object, nil
	}
	if res.Custom {
		object, err := envelope.SetName(e.Object, e.Name, e.Namespace)
		if err != nil {
			return nil, fmt.Errorf("the object: %w", err)
		}
		return res.JSON(object)
	}

	m, err := decodeTree(res, e.Object)
	if err != nil {
		return nil, fmt.Errorf("the object: %w", err)
	}

	dropUnset(m)
	v, kind := bodyType(res, e.Subresource)
	m["apiVersion"], m["kind"] = v, kind
	metadata, _ := m["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		m["metadata"] = metadata
	}

	metadata["name"] = e.Name
	if e.Namespace != "" {
		metadata["namespace"] = e.Namespace
	}
	return json.Marshal(m)
}

// dropUnset drops nulls and the empty structs that Go's encoder writes for structs that aren't pointers: applying them
// would own them.
func dropUnset(m map[string]any) {
	for k, v := range m {
		switch x := v.(type) {
		case nil:
			delete(m, k)
		case map[string]any:
			if dropUnset(x); len(x) == 0 && (k == "status" || k == "metadata" || k == "spec" || k == "resources" ||
				k == "strategy" || k == "updateStrategy") {
				delete(m, k)
			}
		case []any:
			for _, item := range x {
				if o, ok := item.(map[string]any); ok {
					dropUnset(o)
				}
			}
		}
	}
}
