package simulator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

func (k *kind) apiResource() abi.APIResource {
	return abi.APIResource{Resource: k.Resource.String(), Kind: k.kind, Namespaced: k.namespaced,
		Verbs: []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}}
}

func (c *Cluster) sortedKinds() []*kind {
	return slices.SortedFunc(maps.Values(c.kinds), func(a,
		b *kind) int {
		return strings.Compare(a.Resource.String(), b.Resource.String())
	})
}

// text is an answer that is no object.
type text string

// serveDiscovery answers what is asked of the server itself: nil where the path is another one's.
func (c *Cluster) serveDiscovery(path string) any {
	switch p := strings.Split(strings.Trim(path, "/"), "/"); {
	case path == "/healthz" || path == "/livez" || path == "/readyz":
		return text("ok")
	case path == "/api":
		return &metav1.APIVersions{Versions: []string{"v1"}}
	case path == "/apis":
		return c.groups()
	case len(p) == 2 && p[0] == "api":
		return c.served(apischema.GroupVersion{Version: p[1]})
	case len(p) == 3 && p[0] == "apis":
		return c.served(apischema.GroupVersion{Group: p[1], Version: p[2]})
	}
	return nil
}

// groups returns the groups, each with its versions, the newest and most stable one first.
func (c *Cluster) groups() *metav1.APIGroupList {
	versions := map[string][]string{}
	for r := range c.kinds {
		if r.Group != "" && !slices.Contains(versions[r.Group], r.Version) {
			versions[r.Group] = append(versions[r.Group], r.Version)
		}
	}

	all := &metav1.APIGroupList{}
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		slices.SortFunc(versions[name], func(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) })
		g := metav1.APIGroup{Name: name}
		for _, v := range versions[name] {
			g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + v, Version: v})
		}
		g.PreferredVersion = g.Versions[0]
		all.Groups = append(all.Groups, g)
	}
	return all
}

// served returns the resources of a group in a version; nil: there are none.
func (c *Cluster) served(gv apischema.GroupVersion) any {
	l := &metav1.APIResourceList{GroupVersion: gv.String()}
	for _, k := range c.sortedKinds() {
		if k.Group != gv.Group || k.Version != gv.Version {
			continue
		}
		r := k.apiResource()
		l.APIResources = append(l.APIResources, metav1.APIResource{Name: k.Name, Kind: k.kind, Namespaced: k.namespaced,
			Verbs: r.Verbs})
		if k.status {
			l.APIResources = append(l.APIResources, metav1.APIResource{Name: k.Name + "/status", Kind: k.kind,
				Namespaced: k.namespaced, Verbs: []string{"get", "patch", "update"}})
		}
	}
	if len(l.APIResources) == 0 {
		return nil
	}
	return l
}

// All lists what the cluster serves.
func (c *Cluster) All(context.Context) (*abi.Discovery, error) {
	d := &abi.Discovery{}
	for _, k := range c.sortedKinds() {
		d.Resources = append(d.Resources, k.apiResource())
	}
	return d, nil
}

// noKind is the error of a kind that isn't served.
type noKind struct{ apiVersion, kind string }

func (e *noKind) Error() string {
	return fmt.Sprintf("no matches for kind %q in version %q", e.kind, e.apiVersion)
}

// Reason is that of an outcome.
func (e *noKind) Reason() string { return "NoKindMatch" }

// Kind returns the resource of a kind; the version may be *.
func (c *Cluster) Kind(_ context.Context, apiVersion, kind string) (abi.APIResource, error) {
	group, anyVersion := strings.CutSuffix(apiVersion, "*")
	for _, k := range c.sortedKinds() {
		if k.kind == kind && (k.apiVersion() == apiVersion || anyVersion && strings.HasPrefix(k.apiVersion(), group)) {
			return k.apiResource(), nil
		}
	}
	return abi.APIResource{}, &noKind{apiVersion, kind}
}

// Resource returns a resource with its kind and scope.
func (c *Cluster) Resource(_ context.Context, r abi.Resource) (*schema.Resource, error) {
	if k := c.kinds[r]; k != nil {
		return k.schema, nil
	}
	return nil, &noKind{r.String(), ""}
}
