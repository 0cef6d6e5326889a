package effects

import (
	"slices"

	"github.com/windlass-dev/windlass/abi"
)

// Written returns effects with the object of each update as the update would leave it where it is done on what a sync
// saw: answers of versions that read different fields are compared by that. What isn't known of stays as it is.
func (w *Writer) Written(saw Snapshot, effects []abi.Effect) []abi.Effect {
	all := slices.Clone(effects)
	for i := range all {
		e := &all[i]
		e.Members = w.Written(saw, e.Members)
		if e.Kind != abi.EffectUpdate || ownBody(e.Subresource) {
			continue
		}
		if object := w.writtenObject(saw, e); object != nil {
			e.Object = object
		}
	}
	return all
}

// writtenObject returns an object as an update would leave it, nil where that can't be said.
func (w *Writer) writtenObject(saw Snapshot, e *abi.Effect) []byte {
	r, ok := abi.ParseResource(e.Resource)
	if !ok {
		return nil
	}
	o := saw.Find(r, e.Namespace, e.Name)
	if o == nil || e.Version != "" && e.Version != o.ResourceVersion {
		return nil
	}

	seen, err := w.seen.project(r, o.Raw)
	if err != nil {
		return nil
	}
	object, _, err := mergeOf(e)(o.Resource.Message, o.Raw, seen, e.Object, w.seen.keepsPath(r))
	if err != nil {
		return nil // the update fails, too
	}
	return object
}
