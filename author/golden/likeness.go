package golden

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/record"
)

// An object is said to be like another one, or like a template in that, if that says so many values less, and no more
// than so many of the other's are missing.
const (
	savesLeast = 3
	lacksMost  = 2
)

// describeLikeness notes of a created object, but for its metadata, only what it has otherwise than that object or
// template of the case that it is most like.
func (h *host) describeLikeness(n *Note, object map[string]any) error {
	body := withoutMetadata(object)
	whole := record.ChangeOf(nil, body)
	least := whole.Size() - savesLeast
	for _, list := range [][]*cache.Object{h.cached, h.live} {
		for _, o := range list {
			of, err := record.Readable(o.Resource, o.Raw)
			if err != nil {
				return err
			}
			name := o.Resource.Resource.String() + " " + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
			delete(of, "status")
			eachTemplate("", of, func(path string, template map[string]any) {
				c := record.ChangeOf(withoutMetadata(template), body)
				if c.Size() > least || len(c.Unset) > lacksMost {
					return
				}
				least = c.Size() - 1
				n.Like, n.Change, n.Object = strings.TrimSpace(name+" "+path), c, nil
			})
		}
	}
	if n.Like != "" {
		n.Set["metadata"] = object["metadata"]
	}
	return nil
}

func withoutMetadata(object map[string]any) map[string]any {
	body := maps.Clone(object)
	delete(body, "metadata")
	return body
}

// eachTemplate calls do with an object and all templates in it.
func eachTemplate(path string, v any, do func(path string, template map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		if path == "" || strings.HasSuffix(path, "emplate") || strings.HasSuffix(path, "]") {
			do(path, v)
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			eachTemplate(strings.TrimPrefix(path+"."+name, "."), v[name], do)
		}
	case []any:
		if strings.HasSuffix(path, "emplates") {
			for i, x := range v {
				eachTemplate(path+"["+strconv.Itoa(i)+"]", x, do)
			}
		}
	}
}
