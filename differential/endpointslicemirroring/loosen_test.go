package endpointslicemirroring

import (
	"fmt"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
)

// loosen compares writes of slices by what they come to: upstream's controller takes endpoints, the slices that it
// keeps of several, and those that it uses anew, from maps. So of each write its verb and the slice's address type are
// compared, and then what the slices say in the end; where a write has failed not this, for which were written is
// chance too.
func loosen(
	key string,
	before, after *api.Cluster,
	writes []*api.Request,
) (rest []*api.Request, lines []string, err error) {
	old, err := list(before)
	if err != nil {
		return nil, nil, err
	}

	failed, touched := false, false
	for _, q := range writes {
		if q.Resource != current {
			rest = append(rest, q)
			continue
		}
		e, err := subjectOf(q, old)
		if err != nil {
			return nil, nil, err
		}
		switch was := old[q.Name]; {
		case q.Err != nil:
			failed = true
			lines = append(lines, fmt.Sprintf("%s of a slice fails: %s", q.Verb, apierrors.ReasonForError(q.Err)))
		case q.Verb == "update" && was != nil && said(was) == said(e):
			// a write that changes nothing but what a row of docs/differences.md is about, or the order
		default:
			touched = true
			lines = append(lines, fmt.Sprintf("%s of a slice of %s", q.Verb, e.AddressType))
		}
	}

	slices.Sort(lines)
	if failed || !touched {
		return rest, lines, nil
	}
	now, err := list(after)
	if err != nil {
		return nil, nil, err
	}
	return rest, append(lines, all(now, key)...), nil
}

// subjectOf returns the slice that a write is of.
func subjectOf(q *api.Request, old map[string]*discoveryv1.EndpointSlice) (*discoveryv1.EndpointSlice, error) {
	o := q.Answer
	if q.Err != nil || q.Verb == "delete" {
		o = q.Sent
	}
	if o != nil {
		v, err := api.External(o, discoveryv1.SchemeGroupVersion)
		if err != nil {
			return nil, err
		}
		return v.(*discoveryv1.EndpointSlice), nil
	}
	if e := old[q.Name]; e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("%s: there is no such slice", q)
}

// all is what the slices of a key say.
func all(slicesByName map[string]*discoveryv1.EndpointSlice, key string) (lines []string) {
	for _, e := range slicesByName {
		if e.Namespace+"/"+e.Labels[discoveryv1.LabelServiceName] == key && e.Labels[discoveryv1.LabelManagedBy] == manager {
			lines = append(lines, "in the end "+said(e))
		}
	}
	slices.Sort(lines)
	return lines
}

// said is what a slice says, in one order. Finalizers are left out: a row of docs/differences.md is about them.
func said(e *discoveryv1.EndpointSlice) string {
	endpoints, ports := []string{}, []string{}
	for _, x := range e.Endpoints {
		endpoints = append(endpoints, text(x))
	}
	for _, p := range e.Ports {
		ports = append(ports, text(p))
	}
	slices.Sort(endpoints)
	slices.Sort(ports)
	return fmt.Sprintf("%s %s\n%s%s", e.AddressType, strings.Join(ports, "; "),
		text(map[string]any{"labels": e.Labels, "annotations": e.Annotations, "owners": e.OwnerReferences}),
		strings.Join(endpoints, ""))
}

func text(v any) string {
	b, err := differential.YAML(v)
	if err != nil {
		panic(err) // it is plain data
	}
	return b
}

// sum is what each key's slices say.
func sum(c *api.Cluster) (lines []string, err error) {
	slicesByName, err := list(c)
	if err != nil {
		return nil, err
	}
	keys := map[string]bool{}
	for _, e := range slicesByName {
		keys[e.Namespace+"/"+e.Labels[discoveryv1.LabelServiceName]] = true
	}
	for key := range keys {
		for _, line := range all(slicesByName, key) {
			lines = append(lines, key+": "+line)
		}
	}
	slices.Sort(lines)
	return lines, nil
}

// kept is the same for slices of which the controller keeps one.
func kept(e *discoveryv1.EndpointSlice) string {
	same := *e
	same.Labels, same.Annotations, same.OwnerReferences, same.Endpoints = nil, nil, nil, nil
	return e.Labels[discoveryv1.LabelServiceName] + " " + said(&same)
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
