package simulator

import (
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// patchObject changes an object by a patch. An apply is approximated: what the manager has applied last and doesn't any
// more is taken away, the rest is merged; there are no conflicts between managers, for controllers force theirs.
func (c *Cluster) patchObject(w *write, t types.PatchType, patch []byte, manager string) (*Object, error) {
	old := c.getObject(w.kind.Resource, w.namespace, w.name)
	if t == types.ApplyPatchType {
		return c.applyObject(w, old, patch, manager)
	}

	if old == nil {
		_, err := c.findTarget(w)
		return nil, err
	}

	before, err := json.Marshal(old.Object)
	if err != nil {
		return nil, err
	}

	var after []byte
	switch t {
	case types.JSONPatchType:
		p, err := jsonpatch.DecodePatch(patch)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if after, err = p.Apply(before); err != nil {
			return nil, apierrors.NewGenericServerResponse(422, "", w.kind.groupResource(), w.name, err.Error(), 0, false)
		}
	case types.MergePatchType:
		if after, err = jsonpatch.MergePatch(before, patch); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	case types.StrategicMergePatchType:
		if w.kind.custom {
			return nil, apierrors.NewGenericServerResponse(415, "", w.kind.groupResource(), w.name,
				"the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml", 0, false)
		}
		if after, err = strategicpatch.StrategicMergePatch(before, patch, w.kind.schema.New()); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	default:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("patches of type %s are not known", t))
	}

	o, err := parseJSON(after)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}

	if err := keepsUID(w, old, o); err != nil {
		return nil, err
	}
	if err := precondition(w.kind, old, "", o.GetResourceVersion()); err != nil {
		return nil, err
	}
	return c.replace(w, old, o)
}

// keepsUID refuses a patch that makes the object another one. A PUT with another UID is a conflict.
func keepsUID(w *write, old, o *Object) error {
	uid := string(o.GetUID())
	if uid == "" || uid == string(old.GetUID()) {
		return nil
	}
	return apierrors.NewInvalid(w.kind.groupKind(), w.name,
		field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")})
}

func (c *Cluster) applyObject(w *write, old *Object, patch []byte, manager string) (*Object, error) {
	body, err := yaml.YAMLToJSON(patch)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}

	sent, err := parseJSON(body)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}

	if old == nil {
		if w.subresource != "" {
			_, err := c.findTarget(w)
			return nil, err
		}
		if uid := sent.GetUID(); uid != "" {
			return nil, apierrors.NewConflict(w.kind.groupResource(), w.name,
				fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
		}
		sent.SetName(w.name)
		created := *w
		created.object = sent
		o, err := c.createObject(&created)
		if err == nil && !w.dryRun {
			c.applied[manager+" "+string(o.GetUID())+" "] = sent.Object
		}
		return o, err
	}

	of := manager + " " + string(old.GetUID()) + " " + w.subresource
	last, err := json.Marshal(c.applied[of])
	if err != nil {
		return nil, err
	}
	if c.applied[of] == nil {
		last = []byte("{}")
	}

	before, err := json.Marshal(old.Object)
	if err != nil {
		return nil, err
	}

	var after []byte
	if w.kind.custom {
		p, err := jsonmergepatch.CreateThreeWayJSONMergePatch(last, body, before)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if after, err = jsonpatch.MergePatch(before, p); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	} else {
		meta, err := strategicpatch.NewPatchMetaFromStruct(w.kind.schema.New())
		if err != nil {
			return nil, err
		}
		p, err := strategicpatch.CreateThreeWayMergePatch(last, body, before, meta, true)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if after, err = strategicpatch.StrategicMergePatch(before, p, w.kind.schema.New()); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}

	merged, err := parseJSON(after)
	if err != nil {
		return nil, err
	}
	if err := keepsUID(w, old, merged); err != nil {
		return nil, err
	}

	o, err := c.replace(w, old, merged)
	if err == nil && !w.dryRun {
		c.applied[of] = sent.Object
	}
	return o, err
}
