package views

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema"
)

// compileDistinct makes the mask of what a distinct view delivers: its own fields alone, so that objects which differ
// in others, or in their names, are alike.
func (v *view) compileDistinct(m *schema.Message) (err error) {
	if !v.Distinct {
		return nil
	}
	if v.Count > 0 || v.First > 0 {
		return fmt.Errorf("a distinct view delivers how many objects are alike: it has neither count nor first")
	}
	if v.plan.overAllResources() {
		return fmt.Errorf("a view over all resources can't be distinct: it has only metadata")
	}
	fields := make([]string, len(v.Fields))
	for i, f := range v.Fields {
		fields[i] = wirePath(f)
	}
	v.own, err = m.Mask(distinct(fields)...)
	return err
}

// projectDistinct appends what the objects hold of the view's fields, in the order of the bytes, each once.
func (s *Snapshot) projectDistinct(v *view, rows []*cache.Object, dst []abi.ObjectData) ([]abi.ObjectData, error) {
	from, size := len(dst), 0
	places := map[string]int{}
	var room []byte
	for _, o := range rows {
		var err error
		if room, err = v.own.Project(room[:0], o.Raw); err != nil {
			return dst, fmt.Errorf("view %s: %s %s/%s: %w", v.Name, v.Resource, o.Namespace, o.Name, err)
		}
		if i, ok := places[string(room)]; ok {
			dst[i].Count++
			continue
		}
		places[string(room)] = len(dst)
		dst = append(dst, abi.ObjectData{Data: bytes.Clone(room), Count: 1})
		size += len(room)
	}

	slices.SortFunc(dst[from:], func(a, b abi.ObjectData) int { return bytes.Compare(a.Data, b.Data) })
	return dst, s.addBytes(v, len(dst)-from, size)
}
