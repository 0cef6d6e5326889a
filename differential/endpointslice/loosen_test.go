package endpointslice

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/differential/api"
)

// loosen compares writes of slices by what they come to: upstream's controller takes the endpoints that it fills slices
// with, the slices that it fills first where they are equally full, and those that it uses anew, from maps. So of each write
// its verb, the slice's labels, owners, ports and size are compared, and then the endpoints that the service's slices say
// in the end, by type and ports; where a write has failed, not these, for which were written before is chance too.
func loosen(key string, before, after *api.Cluster, writes []*api.Request) (rest []*api.Request, lines []string, err error) {
	old, err := list(before)
	if err != nil {
		return nil, nil, err
	}
	auto, err := hinted(before, key)
	if err != nil {
		return nil, nil, err
	}
	touched, failed := map[string]bool{}, false
	for _, q := range writes {
		if q.Resource != current {
			rest = append(rest, q)
			continue
		}
		o := q.Answer
		if q.Err != nil || q.Verb == "delete" {
			o = q.Sent
		}
		e := old[q.Name]
		if o != nil {
			v, err := api.External(o, discoveryv1.SchemeGroupVersion)
			if err != nil {
				return nil, nil, err
			}
			e = v.(*discoveryv1.EndpointSlice)
		}
		if e == nil {
			return nil, nil, fmt.Errorf("%s: there is no such slice", q)
		}
		if q.Err != nil {
			failed = true
			lines = append(lines, fmt.Sprintf("%s of a slice of %s fails: %s", q.Verb, e.AddressType, apierrors.ReasonForError(q.Err)))
			continue
		}
		touched[string(e.AddressType)] = true
		if q.Verb == "delete" {
			lines = append(lines, fmt.Sprintf("delete of a slice of %s", e.AddressType))
			continue
		}
		b, err := yaml.Marshal(map[string]any{"labels": e.Labels, "annotations": e.Annotations, "owners": e.OwnerReferences, "finalizers": e.Finalizers})
		if err != nil {
			return nil, nil, err
		}
		lines = append(lines, fmt.Sprintf("%s of a slice of %s %s with %d endpoints\n%s", q.Verb, e.AddressType, ports(e), len(e.Endpoints), b))
	}
	slices.Sort(lines)
	if len(touched) == 0 || failed {
		return rest, lines, nil
	}

	now, err := list(after)
	if err != nil {
		return nil, nil, err
	}
	end := map[string][]string{}
	for _, e := range now {
		if e.Namespace+"/"+e.Labels[discoveryv1.LabelServiceName] != key || e.Labels[discoveryv1.LabelManagedBy] != manager {
			continue
		}
		group := fmt.Sprint(e.AddressType, " ", ports(e))
		for _, x := range e.Endpoints {
			if auto {
				x.Hints = nil // shared out among zones that want equally many, and endpoints in the slices' order
			}
			b, err := yaml.Marshal(x)
			if err != nil {
				return nil, nil, err
			}
			end[group] = append(end[group], string(b))
		}
	}
	for _, group := range slices.Sorted(maps.Keys(end)) {
		slices.Sort(end[group])
		lines = append(lines, "in the end "+group+"\n"+strings.Join(end[group], ""))
	}
	return rest, lines, nil
}

func list(c *api.Cluster) (map[string]*discoveryv1.EndpointSlice, error) {
	all, err := c.List(current)
	if err != nil {
		return nil, err
	}
	byName := map[string]*discoveryv1.EndpointSlice{}
	for _, o := range all {
		e := o.(*discoveryv1.EndpointSlice)
		byName[e.Name] = e
	}
	return byName, nil
}

// hinted reports whether the service asks for hints that share out the zones' capacity.
func hinted(c *api.Cluster, key string) (bool, error) {
	all, err := c.List(services)
	return slices.ContainsFunc(all, func(o runtime.Object) bool {
		s := o.(*corev1.Service)
		v, ok := s.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]
		if !ok {
			v = s.Annotations[corev1.AnnotationTopologyMode]
		}
		return s.Namespace+"/"+s.Name == key && strings.EqualFold(v, "auto")
	}), err
}

// ports are a slice's in one order: upstream's is that of hashes of a dump, the plugin's is the service's.
func ports(e *discoveryv1.EndpointSlice) string {
	var all []string
	for _, p := range e.Ports {
		b, err := yaml.Marshal(p)
		if err != nil {
			panic(err) // it is plain data
		}
		all = append(all, strings.ReplaceAll(strings.TrimSpace(string(b)), "\n", ", "))
	}
	slices.Sort(all)
	return fmt.Sprint(all)
}
