package effects

import (
	"slices"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// Written returns effects with the object of each update as the update would leave it where it is done on what a sync
// saw, by a version that reads so much: answers of versions that read different fields are compared by that. What isn't
// known of stays as it is.
func Written(reads func(abi.Resource) *schema.Mask, saw Snapshot, effects []abi.Effect) []abi.Effect {
	all := slices.Clone(effects)
	for i := range all {
		e := &all[i]
		e.Members = Written(reads, saw, e.Members)
		if e.Kind != abi.EffectUpdate || ownBody(e.Subresource) {
			continue
		}
		if object := seen(reads).written(saw, e); object != nil {
			e.Object = object
		}
	}
	return all
}

// written returns an object as an update would leave it, nil where that can't be said.
func (f seen) written(saw Snapshot, e *abi.Effect) []byte {
	r, ok := abi.ParseResource(e.Resource)
	if !ok {
		return nil
	}
	o := saw.Find(r, e.Namespace, e.Name)
	if o == nil || e.Version != "" && e.Version != o.ResourceVersion {
		return nil
	}

	before, err := f.project(r, o.Raw)
	if err != nil {
		return nil
	}
	object, _, err := mergeOf(e)(o.Resource.Message, o.Raw, before, e.Object, f.keepsPath(r))
	if err != nil {
		return nil // the update fails, too
	}
	return object
}
