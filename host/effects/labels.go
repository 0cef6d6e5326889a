package effects

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/names"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/grant"
)

var errLabels = &notGranted{"labels decide whether the operator has granted it, and this patch changes them in a way that the host can't follow: set or remove single labels"}

// normalize writes an effect's JSON anew, without what two readers could read differently: members that are there
// twice, and in a JSON Patch those of other names. What is checked is what is sent.
func normalize(e *abi.Effect) error {
	switch {
	case e.Kind == abi.EffectPatch && e.Patch == abi.JSONPatch:
		return normalizeOperations(e)
	case e.Kind == abi.EffectPatch, e.Kind == abi.EffectApply && envelope.IsJSON(e.Object):
	default:
		return nil
	}

	d := json.NewDecoder(bytes.NewReader(e.Object))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return fmt.Errorf("the patch: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("the patch: something follows the JSON object")
	}
	b, err := json.Marshal(m)
	if err == nil {
		e.Object = b
	}
	return err
}

// normalizeOperations is normalize for a JSON Patch.
func normalizeOperations(e *abi.Effect) error {
	var operations []map[string]json.RawMessage
	if err := json.Unmarshal(e.Object, &operations); err != nil {
		return fmt.Errorf("the JSON patch: %w", err)
	}
	for i, o := range operations {
		for name := range o {
			switch name {
			case "op", "path", "from", "value":
			default:
				return fmt.Errorf("the JSON patch: operation %d has a member %s: there are op, path, from and value", i,
					names.Quote(name))
			}
		}
	}
	b, err := json.Marshal(operations)
	if err == nil {
		e.Object = b
	}
	return err
}

// patchedLabels returns the labels after a patch.
func patchedLabels(before labels.Set, t abi.PatchType, patch []byte) (labels.Set, error) {
	after := maps.Clone(before)
	if t == abi.JSONPatch {
		var operations []struct {
			Op, Path, From string
			Value          json.RawMessage
		}
		if err := json.Unmarshal(patch, &operations); err != nil {
			return nil, fmt.Errorf("the JSON patch: %w", err)
		}
		const all = "/metadata/labels"
		for _, o := range operations {
			key, one := strings.CutPrefix(o.Path, all+"/")
			switch {
			case o.Op == "test", o.Op != "move" && !one && o.Path != all && o.Path != "/metadata" && o.Path != "":
			case o.Op == "move" && !one && o.Path != all && o.Path != "/metadata" && o.Path != "" &&
				!strings.HasPrefix(o.From, all) && o.From != "/metadata" && o.From != "":
			case one && o.Op == "remove":
				delete(after, unescape(key))
			case one && (o.Op == "add" || o.Op == "replace"):
				var v string
				if json.Unmarshal(o.Value, &v) != nil {
					return nil, errLabels
				}
				after[unescape(key)] = v
			case o.Path == all && (o.Op == "add" || o.Op == "replace"):
				after = labels.Set{}
				if json.Unmarshal(o.Value, &after) != nil || after == nil {
					return nil, errLabels
				}
			default:
				return nil, errLabels
			}
		}
		return after, nil
	}

	var top map[string]json.RawMessage
	if err := json.Unmarshal(patch, &top); err != nil {
		return nil, fmt.Errorf("the patch: %w", err)
	}

	meta, err := patchMember(top, "metadata")
	if err != nil || meta == nil {
		return after, err
	}

	changes, err := patchMember(meta, "labels")
	if err != nil {
		return nil, err
	}

	for key, value := range changes {
		var v *string
		if json.Unmarshal(value, &v) != nil {
			return nil, errLabels
		}
		if v == nil {
			delete(after, key)
		} else {
			after[key] = *v
		}
	}
	return after, nil
}

// patchMember returns an object within a patch, nil without one. Names are compared as the server may, and directives
// of strategic patches aren't followed.
func patchMember(patch map[string]json.RawMessage, name string) (inner map[string]json.RawMessage, err error) {
	for key, raw := range patch {
		switch {
		case strings.HasPrefix(key, "$"), strings.EqualFold(key, name) && key != name:
			return nil, errLabels
		case key == name:
			if json.Unmarshal(raw, &inner) != nil || inner == nil {
				return nil, errLabels
			}
			for k := range inner {
				if strings.HasPrefix(k, "$") {
					return nil, errLabels
				}
			}
		}
	}
	return inner, nil
}

func unescape(s string) string { return strings.NewReplacer("~1", "/", "~0", "~").Replace(s) }

// appliedLabels returns the labels after an apply, which may take away those that an earlier one has set: what is
// applied has to be covered by itself.
func appliedLabels(object []byte) (labels.Set, error) {
	if !envelope.IsJSON(object) {
		return grant.LabelsOf(object)
	}
	return patchedLabels(labels.Set{}, abi.MergePatch, object)
}
