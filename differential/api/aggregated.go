package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Aggregated is what other API servers serve behind this one, such as metrics.
type Aggregated struct {
	// Groups are what discovery shows of them, of each group the preferred version first.
	Groups []schema.GroupVersion
	// Get answers a read of a path below their groups; nil: they know nothing of it.
	Get func(c *Cluster, path string, query url.Values) *Answer
}

// Answer is what another API server says.
type Answer struct {
	Code int
	// Body is text, unless JSON says otherwise.
	Body string
	JSON bool
}

// aggregated answers a request for what another server serves.
func (c *Cluster) aggregated(h *http.Request) (answer *Answer, is bool) {
	if c.Aggregated == nil {
		return nil, false
	}
	for _, gv := range c.Aggregated.Groups {
		path, ok := strings.CutPrefix(h.URL.Path, "/apis/"+gv.String()+"/")
		if !ok || path == "" {
			continue
		}
		if a := c.Aggregated.Get(c, h.URL.Path, h.URL.Query()); a != nil {
			return a, true
		}
		return &missing, true
	}
	return nil, false
}

// missing is what any server says of a path that it has nothing at.
var missing = Answer{Code: http.StatusNotFound, Body: "404 page not found\n"}

// discovered answers a request for what is served.
func (c *Cluster) discovered(path string) (any, bool) {
	switch p := strings.Split(strings.Trim(path, "/"), "/"); {
	case path == "/api":
		return &metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}, true
	case path == "/apis":
		return c.groups(), true
	case len(p) == 2 && p[0] == "api":
		return c.listing(schema.GroupVersion{Version: p[1]})
	case len(p) == 3 && p[0] == "apis":
		return c.listing(schema.GroupVersion{Group: p[1], Version: p[2]})
	}
	return nil, false
}

func (c *Cluster) groups() *metav1.APIGroupList {
	l := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	add := func(gv schema.GroupVersion) {
		v := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
		if n := len(l.Groups); n > 0 && l.Groups[n-1].Name == gv.Group {
			l.Groups[n-1].Versions = append(l.Groups[n-1].Versions, v)
			return
		}
		l.Groups = append(l.Groups, metav1.APIGroup{Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{v},
			PreferredVersion: v})
	}
	for _, r := range c.Served() {
		if gv, err := schema.ParseGroupVersion(r.GroupVersion); err == nil && gv.Group != "" {
			add(gv)
		}
	}
	if c.Aggregated != nil {
		for _, gv := range c.Aggregated.Groups {
			add(gv)
		}
	}
	return l
}

func (c *Cluster) listing(gv schema.GroupVersion) (any, bool) {
	if c.Aggregated != nil && slices.Contains(c.Aggregated.Groups, gv) {
		return &metav1.APIResourceList{TypeMeta: listType, GroupVersion: gv.String()}, true
	}
	for _, l := range c.Served() {
		if l.GroupVersion != gv.String() {
			continue
		}
		l.TypeMeta = listType
		for _, r := range l.APIResources {
			for name := range c.server.resources[gv.WithResource(r.Name)].of {
				sub := metav1.APIResource{Name: r.Name + "/" + name, Namespaced: r.Namespaced, Kind: r.Kind,
					Verbs: metav1.Verbs{"get", "patch", "update"}}
				if name == "scale" {
					sub.Group, sub.Version, sub.Kind = scaleV1.Group, scaleV1.Version, "Scale"
				}
				l.APIResources = append(l.APIResources, sub)
			}
		}
		return l, true
	}
	return nil, false
}

var listType = metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}

// scaleV1 is the version of all scale subresources.
var scaleV1 = schema.GroupVersion{Group: "autoscaling", Version: "v1"}

// Version returns the version that a subresource's objects have, or with none the resource's.
func Version(gvr schema.GroupVersionResource, subresource string) schema.GroupVersion {
	if subresource == "scale" {
		return scaleV1
	}
	return gvr.GroupVersion()
}
