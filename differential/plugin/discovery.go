package plugin

import (
	"context"
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// discovery is what the cluster of the moment serves.
type discovery struct{ p *Plugin }

func (d discovery) All(context.Context) (*abi.Discovery, error) {
	all := &abi.Discovery{}
	for _, l := range d.p.cluster.Served() {
		for _, r := range l.APIResources {
			all.Resources = append(all.Resources, abi.APIResource{
				Resource: l.GroupVersion + "/" + r.Name, Kind: r.Kind, Namespaced: r.Namespaced, Verbs: r.Verbs,
			})
		}
	}
	return all, nil
}

// noKind is the error of a kind that isn't served.
type noKind struct{ apiVersion, kind string }

func (e *noKind) Error() string {
	return fmt.Sprintf("no matches for kind %q in version %q", e.kind, e.apiVersion)
}

// Reason is that of an outcome.
func (e *noKind) Reason() string { return "NoKindMatch" }

func (d discovery) Kind(ctx context.Context, apiVersion, kind string) (abi.APIResource, error) {
	group, anyVersion := strings.CutSuffix(apiVersion, "*")
	all, err := d.All(ctx)
	if err != nil {
		return abi.APIResource{}, err
	}
	for _, r := range all.Resources {
		version := r.Resource[:strings.LastIndexByte(r.Resource, '/')]
		if r.Kind == kind && (version == apiVersion || anyVersion && strings.HasPrefix(version, group)) {
			return r, nil
		}
	}
	return abi.APIResource{}, &noKind{apiVersion, kind}
}

func (d discovery) Resource(_ context.Context, r abi.Resource) (*schema.Resource, error) {
	return schema.For(r)
}
