package simulator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

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
