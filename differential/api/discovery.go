package api

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Served returns what the server serves, as its discovery says it: group by group, without subresources.
func (s *Server) Served() []*metav1.APIResourceList {
	byVersion := map[string]*metav1.APIResourceList{}
	for _, r := range s.resources {
		version := r.gvr.GroupVersion().String()
		l := byVersion[version]
		if l == nil {
			l = &metav1.APIResourceList{GroupVersion: version}
			byVersion[version] = l
		}
		verbs := metav1.Verbs{"create"}
		if r.keepsObjects() {
			verbs = append(verbs, "delete", "get", "list", "patch", "update", "watch")
		}
		if _, ok := r.storage.(rest.CollectionDeleter); ok {
			verbs = append(verbs, "deletecollection")
		}
		l.APIResources = append(l.APIResources, metav1.APIResource{Name: r.gvr.Resource, Kind: r.kind,
			Namespaced: r.namespaced, Verbs: verbs})
	}

	var all []*metav1.APIResourceList
	for _, l := range byVersion {
		slices.SortFunc(l.APIResources, func(a, b metav1.APIResource) int { return strings.Compare(a.Name, b.Name) })
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b *metav1.APIResourceList) int { return strings.Compare(a.GroupVersion, b.GroupVersion) })
	return all
}

// Served returns what the cluster's server serves.
func (c *Cluster) Served() []*metav1.APIResourceList { return c.server.Served() }
