package effects

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/schema"
)

// countsAsDelete reports whether an effect counts against the budget of deletes: by what comes of it, not by what it is
// called. An object that gets an owner which isn't there is deleted by the garbage collector. So a write counts that
// gives an object an owner other than the key's object, of which this host knows.
func (s *Session) countsAsDelete(e *abi.Effect, res *schema.Resource) bool {
	if s.w.Deletes == nil || e.DryRun {
		return false
	}
	return deletes(e) || e.Subresource == "" && s.givesAway(e, res)
}

// givesAway reports whether a write gives an object an owner that may not be there. What can't be read counts.
func (s *Session) givesAway(e *abi.Effect, res *schema.Resource) bool {
	var owners []string
	known := true
	switch {
	case e.Kind == abi.EffectPatch && e.Patch == abi.JSONPatch:
		owners, known = patchedOwners(e.Object)
	case e.Kind == abi.EffectPatch, e.Kind == abi.EffectApply && envelope.IsJSON(e.Object):
		owners, known = mergedOwners(e.Object)
	case e.Kind == abi.EffectCreate, e.Kind == abi.EffectUpdate, e.Kind == abi.EffectApply:
		var err error
		owners, err = envelope.Owners(e.Object)
		known = err == nil
	}
	if !known {
		return true
	}

	if len(owners) == 0 {
		return false
	}
	had := s.ownersOf(e, res)
	return slices.ContainsFunc(owners, func(uid string) bool { return !slices.Contains(had, uid) })
}

// ownersOf returns the UIDs that are no news as an object's owners: the key's object's, and those that the object has
// as the sync has seen it.
func (s *Session) ownersOf(e *abi.Effect, res *schema.Resource) (uids []string) {
	if uid, ok := s.bases.keyObject(); ok {
		uids = append(uids, uid)
	}
	if b := s.bases.find(objectKeyOf(e, res)); b != nil {
		have, _ := envelope.Owners(b.raw)
		uids = append(uids, have...)
	}
	return uids
}

// mergedOwners returns the owners that a merge patch, a strategic one or an apply in JSON gives an object.
func mergedOwners(patch []byte) (uids []string, ok bool) {
	var o struct {
		Metadata struct {
			OwnerReferences []struct{ UID string } `json:"ownerReferences"`
		} `json:"metadata"`
	}
	if json.Unmarshal(patch, &o) != nil {
		return nil, false
	}
	for _, r := range o.Metadata.OwnerReferences {
		if r.UID != "" {
			uids = append(uids, r.UID)
		}
	}
	return uids, true
}

// patchedOwners returns the owners that a JSON Patch gives an object; not ok: it takes them from elsewhere in it.
func patchedOwners(patch []byte) (uids []string, ok bool) {
	var operations []struct {
		Op, Path, From string
		Value          any
	}
	if json.Unmarshal(patch, &operations) != nil {
		return nil, false
	}

	const owners = "/metadata/ownerReferences"
	for _, o := range operations {
		within := strings.HasPrefix(o.Path, owners)
		switch {
		case !within && o.Path != "/metadata" && o.Path != "", o.Op == "test", o.Op == "remove":
		case o.Op == "move", o.Op == "copy":
			return nil, false
		case within:
			uids = append(uids, uidsIn(o.Value, strings.HasSuffix(o.Path, "/uid"))...)
		default:
			uids = append(uids, uidsIn(ownersIn(o.Value, o.Path), false)...)
		}
	}
	return uids, true
}

// ownersIn returns the owners in what takes the place of the metadata, or of the whole object.
func ownersIn(value any, path string) any {
	m, _ := value.(map[string]any)
	if path == "" {
		m, _ = m["metadata"].(map[string]any)
	}
	return m["ownerReferences"]
}

// uidsIn returns the UIDs in a value: itself, a reference, or a list of these.
func uidsIn(value any, itself bool) (uids []string) {
	switch v := value.(type) {
	case string:
		if itself {
			uids = append(uids, v)
		}
	case map[string]any:
		uids = uidsIn(v["uid"], true)
	case []any:
		for _, x := range v {
			uids = append(uids, uidsIn(x, false)...)
		}
	}
	return uids
}
