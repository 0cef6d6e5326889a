package golden

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema"
)

// discover answers from the case's discovery or its plugin's definitions; a kind that is in neither may be built in.
func (h *host) discover(q *abi.Discover) (abi.Outcome, error) {
	if q.Kind == "" {
		if h.c.Discovery == nil {
			return abi.Outcome{}, fmt.Errorf("the plugin asks what the API server serves: the case needs `discovery`")
		}
		return abi.Outcome{Discovery: h.c.Discovery.message()}, nil
	}

	for _, r := range h.custom {
		if r.Kind == q.Kind && isAskedFor(q.APIVersion, apiVersion(r.Resource)) {
			return abi.Outcome{Discovery: &abi.Discovery{Resources: []abi.APIResource{r}}}, nil
		}
	}
	for _, r := range schema.All() {
		res, err := schema.For(r)
		if err != nil {
			return abi.Outcome{}, err
		}
		if res.Kind == q.Kind && isAskedFor(q.APIVersion, res.APIVersion()) {
			return abi.Outcome{Discovery: &abi.Discovery{Resources: []abi.APIResource{{Resource: r.String(), Kind: res.Kind,
				Namespaced: res.Namespaced}}}}, nil
		}
	}
	return abi.Outcome{Code: abi.CodeFailed, Reason: "NoKindMatch",
		Message: fmt.Sprintf("no matches for kind %q in version %q", q.Kind, q.APIVersion)}, nil
}

// isAskedFor reports whether a group and version is asked for, perhaps as apps/*.
func isAskedFor(q, apiVersion string) bool {
	group, anyVersion := strings.CutSuffix(q, "*")
	return q == apiVersion || anyVersion && strings.HasPrefix(apiVersion, group)
}

// apiVersion is the group and version of a resource as Resource.String gives it.
func apiVersion(resource string) string {
	return resource[:max(0, strings.LastIndexByte(resource, '/'))]
}

// listObjects shows the metadata of what there is live of a resource: objects as the cache has them or as `live` has
// them, but for those that the sync has deleted and no finalizer keeps. An annotation `stays: "true"` keeps an object
// too.
func (h *host) listObjects(e *abi.Effect) (abi.Outcome, error) {
	if !e.Metadata {
		return abi.Outcome{}, fmt.Errorf("a case can't answer a live list of whole %s: list their metadata only", e.Resource)
	}
	v := &abi.ViewData{StoreVersion: "2000"}
	for _, o := range h.live {
		if o.Resource.Resource.String() == e.Resource && o.Namespace == e.Namespace {
			h.used.live[o] = true
		}
	}
	for _, o := range h.present(e) {
		b, err := metadata(o)
		if err != nil {
			return abi.Outcome{}, err
		}
		v.Objects = append(v.Objects, abi.ObjectData{Data: b, ResourceVersion: o.ResourceVersion})
	}
	v.Count = int64(len(v.Objects))
	return abi.Outcome{View: v}, nil
}

// metadata returns an object as a client sees it that asks for metadata alone.
func metadata(o *cache.Object) ([]byte, error) {
	var m metav1.PartialObjectMetadata
	if err := m.Unmarshal(o.Raw); err != nil {
		return nil, err
	}
	return (&metav1.PartialObjectMetadata{ObjectMeta: m.ObjectMeta}).Marshal()
}

// present are the live objects of the effect's resource and namespace.
func (h *host) present(e *abi.Effect) (list []*cache.Object) {
	for _, o := range slices.Concat(h.live, h.cached) {
		if o.Resource.Resource.String() != e.Resource || o.Namespace != e.Namespace ||
			slices.ContainsFunc(list, func(p *cache.Object) bool { return p.Name == o.Name }) {
			continue
		}
		list = append(list, o)
	}
	list = slices.DeleteFunc(list, func(o *cache.Object) bool { return annotated(o, "absent") || h.deleted[o] })
	slices.SortFunc(list, func(a, b *cache.Object) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// removeObjects takes down what a delete, or the delete of a collection, makes of the objects that it is about.
func (h *host) removeObjects(e *abi.Effect) error {
	for _, o := range h.present(e) {
		if e.Kind == abi.EffectDelete && o.Name != e.Name || annotated(o, "stays") {
			continue
		}
		var m metav1.PartialObjectMetadata
		if err := m.Unmarshal(o.Raw); err != nil {
			return err
		}
		if len(m.Finalizers) == 0 {
			if h.deleted == nil {
				h.deleted = map[*cache.Object]bool{}
			}
			h.deleted[o] = true
		}
	}
	return nil
}

// annotated reports whether an annotation of the object says so.
func annotated(o *cache.Object, name string) bool {
	var m metav1.PartialObjectMetadata
	return m.Unmarshal(o.Raw) == nil && m.Annotations[name] == "true"
}
