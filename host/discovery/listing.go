package discovery

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/windlass-dev/windlass/abi"
)

// listing is what the server served at one time.
type listing struct {
	at        time.Time
	preferred []abi.APIResource
	kinds     map[gvk]abi.APIResource
	lower     map[gvk]abi.APIResource // by kinds in lower case
	resources map[abi.Resource]abi.APIResource
	failures  map[string]string // why, by group version
}

// anyVersion behind a group stands for the version that the server prefers of the kind.
const anyVersion = "/*"

type gvk struct{ apiVersion, kind string }

func newListing(at time.Time, groups []*metav1.APIGroup, lists []*metav1.APIResourceList,
	partly *discovery.ErrGroupDiscoveryFailed) *listing {
	l := &listing{at: at, kinds: map[gvk]abi.APIResource{}, lower: map[gvk]abi.APIResource{},
		resources: map[abi.Resource]abi.APIResource{},
		failures:  map[string]string{}}
	if partly != nil {
		for gv, err := range partly.Groups {
			l.failures[gv.String()] = err.Error()
		}
	}

	versions := map[string][]abi.Resource{} // what each group version serves, in the server's order
	for _, list := range lists {
		gv, err := apischema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			l.failures[list.GroupVersion] = err.Error()
			continue
		}
		for i := range list.APIResources {
			a := &list.APIResources[i]
			if strings.Contains(a.Name, "/") {
				continue // a subresource
			}
			r := abi.Resource{Group: gv.Group, Version: gv.Version, Name: a.Name}
			l.add(list.GroupVersion, r, abi.APIResource{Resource: r.String(), Kind: a.Kind, Namespaced: a.Namespaced,
				Verbs: a.Verbs})
			versions[list.GroupVersion] = append(versions[list.GroupVersion], r)
		}
	}

	for _, g := range groups {
		l.addPreferred(g, versions)
	}
	return l
}

func (l *listing) add(groupVersion string, r abi.Resource, a abi.APIResource) {
	l.resources[r] = a
	l.addKind(groupVersion, a)
}

// addKind has a kind name the resource, unless it names one already, and in lower case, too, as for kubectl.
func (l *listing) addKind(apiVersion string, a abi.APIResource) {
	k, lower := gvk{apiVersion, a.Kind}, gvk{apiVersion, strings.ToLower(a.Kind)}
	if l.kinds[k].Resource == "" {
		l.kinds[k] = a
	}
	if l.lower[lower].Resource == "" {
		l.lower[lower] = a
	}
}

// ofKind returns the resource that a kind names: its own one first.
func (l *listing) ofKind(k gvk) (abi.APIResource, bool) {
	if a, ok := l.kinds[k]; ok {
		return a, true
	}
	a, ok := l.lower[k]
	return a, ok
}

// addPreferred takes each of the group's resources in the preferred version, or where that doesn't serve it, in the
// first that does.
func (l *listing) addPreferred(g *metav1.APIGroup, versions map[string][]abi.Resource) {
	order := slices.Clone(g.Versions)
	slices.SortStableFunc(order, func(a, b metav1.GroupVersionForDiscovery) int {
		switch preferred := g.PreferredVersion.Version; {
		case a.Version == b.Version:
			return 0
		case a.Version == preferred:
			return -1
		case b.Version == preferred:
			return 1
		}
		return 0
	})
	taken := map[string]bool{}
	for _, v := range order {
		for _, r := range versions[v.GroupVersion] {
			if !taken[r.Name] {
				taken[r.Name] = true
				a := l.resources[r]
				l.preferred = append(l.preferred, a)
				l.addKind(g.Name+anyVersion, a)
			}
		}
	}
}

// keepUnlisted takes over from an older listing what the group versions served that can't be listed now: their objects
// are there still.
func (l *listing) keepUnlisted(old *listing) {
	if old == nil {
		return
	}
	for r, a := range old.resources {
		gv := apischema.GroupVersion{Group: r.Group, Version: r.Version}.String()
		if _, failed := l.failures[gv]; failed {
			l.add(gv, r, a)
		}
	}
	for k, a := range old.kinds {
		if l.kinds[k].Resource != "" || !strings.HasSuffix(k.apiVersion, anyVersion) {
			continue
		}
		if _, failed := l.failure(k.apiVersion); failed {
			l.addKind(k.apiVersion, a)
		}
	}
}

// unknown returns the failures of group versions of which nothing is known from an older listing.
func (l *listing) unknown() []abi.DiscoveryFailure {
	return slices.DeleteFunc(l.allFailures(), func(f abi.DiscoveryFailure) bool {
		for r := range l.resources {
			if (apischema.GroupVersion{Group: r.Group, Version: r.Version}).String() == f.GroupVersion {
				return true
			}
		}
		return false
	})
}

// failure returns why a group version, or any version of a group, can't be listed.
func (l *listing) failure(groupVersion string) (message string, failed bool) {
	group, any := strings.CutSuffix(groupVersion, anyVersion)
	if !any {
		message, failed = l.failures[groupVersion]
		return message, failed
	}
	for gv, message := range l.failures {
		if strings.HasPrefix(gv, group+"/") {
			return gv + ": " + message, true
		}
	}
	return "", false
}

// pluginListing returns the listing as plugins get it.
func (l *listing) pluginListing() *abi.Discovery {
	return &abi.Discovery{Resources: l.preferred, Failures: l.allFailures()}
}

// allFailures returns the group versions that can't be listed, in their order.
func (l *listing) allFailures() (all []abi.DiscoveryFailure) {
	for gv, message := range l.failures {
		all = append(all, abi.DiscoveryFailure{GroupVersion: gv, Message: message})
	}
	slices.SortFunc(all, func(a, b abi.DiscoveryFailure) int { return strings.Compare(a.GroupVersion, b.GroupVersion) })
	return all
}
