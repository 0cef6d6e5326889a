package endpointslice

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
)

// loosen compares writes of slices by what they come to: upstream's controller takes the endpoints that it fills slices
// with, the slices that it fills first where they are equally full, and those that it uses anew, from maps. So of each
// write its verb, the slice's labels, owners, ports and size are compared, and then the endpoints that the service's
// slices say in the end, by type and ports; where a write has failed or the service is being deleted, so that nothing
// is created, not these, for which were written is chance too.
func loosen(
	key string,
	before, after *api.Cluster,
	writes []*api.Request,
) (rest []*api.Request, lines []string, err error) {
	old, err := list(before)
	if err != nil {
		return nil, nil, err
	}
	auto, ending, err := about(before, key)
	if err != nil {
		return nil, nil, err
	}
	touched, hinted, created := map[string]bool{}, map[string]bool{}, map[string]int{}
	failed := ending ||
		slices.ContainsFunc(writes, func(q *api.Request) bool { return q.Resource == current && q.Err != nil })
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
			lines = append(
				lines,
				fmt.Sprintf("%s of a slice of %s fails: %s", q.Verb, e.AddressType, apierrors.ReasonForError(q.Err)),
			)
			continue
		}
		if was := old[q.Name]; q.Verb == "update" && was != nil && was.ResourceVersion == e.ResourceVersion {
			continue // a write that changes nothing is none
		}
		if auto && q.Verb == "update" && rehinted(old[q.Name], e) {
			hinted[string(e.AddressType)] = true
			continue // which slices keep the hints that they have is a matter of their order
		}
		if q.Verb == "update" && bare(e) &&
			slices.ContainsFunc(slices.Collect(maps.Values(old)), func(o *discoveryv1.EndpointSlice) bool {
				return isOf(o, key) && o.AddressType == e.AddressType && bare(o)
			}) {
			continue // which of several stays as the one without endpoints is chance: it may have been that already
		}
		touched[string(e.AddressType)] = true
		if q.Verb == "delete" {
			lines = append(lines, fmt.Sprintf("delete of a slice of %s", e.AddressType))
			continue
		}
		verb := q.Verb
		if verb == "create" {
			created[string(e.AddressType)]++
		}
		if failed {
			lines = append(lines, fmt.Sprintf("%s of a slice of %s", q.Verb, e.AddressType))
			continue
		}
		if verb == "create" || !shares(old[q.Name], e) {
			verb = "new contents" // which of them a slice takes that is there already is chance
		}
		b, err := differential.YAML(
			map[string]any{
				"labels":      e.Labels,
				"annotations": e.Annotations,
				"owners":      e.OwnerReferences,
				"finalizers":  e.Finalizers,
			},
		)
		if err != nil {
			return nil, nil, err
		}
		lines = append(
			lines,
			fmt.Sprintf("%s of a slice of %s %s with %d endpoints\n%s", verb, e.AddressType, ports(e), len(e.Endpoints), b),
		)
	}
	for t, n := range created {
		lines = append(lines, fmt.Sprintf("%d new slices of %s", n, t))
	}
	slices.Sort(lines)
	if failed || len(touched) == 0 && len(hinted) == 0 {
		return rest, lines, nil
	}
	now, err := list(after)
	if err != nil {
		return nil, nil, err
	}
	zones, err := capacities(before)
	if err != nil {
		return nil, nil, err
	}
	was, is := balances(old, key, zones), balances(now, key, zones)
	if len(touched) == 0 {
		for _, t := range slices.Sorted(maps.Keys(hinted)) {
			if was[t] != is[t] {
				lines = append(lines, is[t])
			}
		}
		return rest, lines, nil
	}

	if twice(old, key) {
		lines = nil // the slice that is looked at first keeps an endpoint that two have: upstream lists them from a map
	}
	said, err := contents(now, key, auto)
	if err != nil {
		return nil, nil, err
	}
	lines = append(lines, said...)
	if auto {
		for _, t := range slices.Sorted(maps.Keys(is)) {
			lines = append(lines, is[t])
		}
	}
	return rest, lines, nil
}

// contents are the endpoints that a service's slices say, by what they say of all of theirs.
func contents(all map[string]*discoveryv1.EndpointSlice, key string, auto bool) (lines []string, err error) {
	end := map[string][]string{}
	for _, e := range all {
		if !isOf(e, key) {
			continue
		}
		group := fmt.Sprint(e.AddressType, " ", ports(e))
		if len(e.Endpoints) == 0 {
			end[group] = append(end[group], "no endpoints\n")
		}
		for _, x := range e.Endpoints {
			if auto && x.Conditions.Ready != nil && *x.Conditions.Ready {
				x.Hints = nil // which endpoint has it is a matter of the slices' order
			}
			b, err := differential.YAML(x)
			if err != nil {
				return nil, err
			}
			end[group] = append(end[group], b)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(end)) {
		slices.Sort(end[group])
		lines = append(lines, "in the end "+group+"\n"+strings.Join(end[group], ""))
	}
	return lines, nil
}

// sum is what each service's slices say; which endpoint is in which slice is chance, as above.
func sum(c *api.Cluster) (lines []string, err error) {
	all, err := list(c)
	if err != nil {
		return nil, err
	}

	services := map[string]bool{}
	for _, e := range all {
		services[e.Namespace+"/"+e.Labels[discoveryv1.LabelServiceName]] = true
	}

	for _, key := range slices.Sorted(maps.Keys(services)) {
		auto, ending, err := about(c, key)
		if err != nil {
			return nil, err
		}
		if ending {
			lines = append(lines, numbers(all, key)...)
			continue
		}
		said, err := contents(all, key, auto)
		if err != nil {
			return nil, err
		}
		for _, line := range said {
			lines = append(lines, key+": "+line)
		}
	}
	return lines, nil
}

// numbers are how many slices a service has: for one that is being deleted none is created, and which endpoints find
// room in those that there are is chance.
func numbers(all map[string]*discoveryv1.EndpointSlice, key string) (lines []string) {
	n := map[discoveryv1.AddressType]int{}
	for _, e := range all {
		if isOf(e, key) {
			n[e.AddressType]++
		}
	}
	for _, t := range slices.Sorted(maps.Keys(n)) {
		lines = append(lines, fmt.Sprintf("%s: in the end %d slices of %s", key, n[t], t))
	}
	return lines
}

// isOf reports whether a slice is one of the controller's for a service, and stays.
func isOf(e *discoveryv1.EndpointSlice, key string) bool {
	return e.DeletionTimestamp == nil && e.Namespace+"/"+e.Labels[discoveryv1.LabelServiceName] == key &&
		e.Labels[discoveryv1.LabelManagedBy] == manager
}

// bare reports whether a slice is one that says that there are no endpoints.
func bare(e *discoveryv1.EndpointSlice) bool { return len(e.Ports) == 0 && len(e.Endpoints) == 0 }

// rehinted reports whether a slice differs from what it was in nothing but hints and the time of the last change.
func rehinted(was, is *discoveryv1.EndpointSlice) bool {
	if was == nil {
		return false
	}
	was, is = was.DeepCopy(), is.DeepCopy()
	for _, e := range []*discoveryv1.EndpointSlice{was, is} {
		e.ResourceVersion, e.Generation, e.ManagedFields = "", 0, nil
		if delete(e.Annotations, corev1.EndpointsLastChangeTriggerTime); len(e.Annotations) == 0 {
			e.Annotations = nil
		}
		for i := range e.Endpoints {
			e.Endpoints[i].Hints = nil
		}
	}
	if ports(was) != ports(is) {
		return false
	}
	was.Ports, is.Ports = nil, nil // upstream's controller puts them in its order with any write
	return equality.Semantic.DeepEqual(was, is)
}

// twice reports whether an endpoint is in two of a service's slices.
func twice(all map[string]*discoveryv1.EndpointSlice, key string) bool {
	seen := map[string]bool{}
	for _, e := range all {
		for _, x := range e.Endpoints {
			if x.TargetRef == nil || e.Namespace+"/"+e.Labels[discoveryv1.LabelServiceName] != key {
				continue
			}
			id := fmt.Sprint(e.AddressType, ports(e), x.TargetRef.Name)
			if seen[id] {
				return true
			}
			seen[id] = true
		}
	}
	return false
}

// shares reports whether two slices of the same ports have an endpoint in common.
func shares(a, b *discoveryv1.EndpointSlice) bool {
	return ports(a) == ports(b) && slices.ContainsFunc(a.Endpoints, func(x discoveryv1.Endpoint) bool {
		return slices.ContainsFunc(b.Endpoints, func(y discoveryv1.Endpoint) bool {
			return x.TargetRef != nil && y.TargetRef != nil && x.TargetRef.Name == y.TargetRef.Name
		})
	})
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

// about reports whether the service asks for hints that share out the zones' capacity, and whether it is being deleted.
func about(c *api.Cluster, key string) (auto, ending bool, err error) {
	all, err := c.List(services)
	for _, o := range all {
		s := o.(*corev1.Service)
		if s.Namespace+"/"+s.Name != key {
			continue
		}
		v, ok := s.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]
		if !ok {
			v = s.Annotations[corev1.AnnotationTopologyMode]
		}
		auto, ending = strings.EqualFold(v, "auto"), s.DeletionTimestamp != nil
	}
	return auto, ending, err
}

// ports are a slice's in one order: upstream's is that of hashes of a dump, the plugin's is the service's.
func ports(e *discoveryv1.EndpointSlice) string {
	var all []string
	for _, p := range e.Ports {
		b, err := differential.YAML(p)
		if err != nil {
			panic(err) // it is plain data
		}
		all = append(all, strings.ReplaceAll(strings.TrimSpace(b), "\n", ", "))
	}
	slices.Sort(all)
	return fmt.Sprint(all)
}
