package endpointslice

import (
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/plugins/shared/endpoint"
	discoveryv1 "github.com/windlass-dev/windlass/sdk/api/discovery/v1"
)

// packGroup puts the group's endpoints into its slices with as few writes as it can: it keeps in place what is there,
// then fills the slices that have to be written anyway, the fullest first, then one other that takes in all the rest,
// or new ones. It gives the number of endpoints added, removed, and there then.
func (r *reconciler) packGroup(p *plan, t discoveryv1.AddressType, group int,
	existing []*discoveryv1.EndpointSlice) (plus,
	minus, all int) {
	first := len(p.update)
	var unchanged []*discoveryv1.EndpointSlice
	kept := make([]*candidate, 0, r.max)
	for _, s := range existing {
		kept = kept[:0]
		same := r.labelled(s)
		for i := range s.Endpoints {
			e := &s.Endpoints[i]
			if x := r.findCandidate(e, group); x != nil {
				x.wanted = false
				kept = append(kept, x)
				same = same && x.equalsEndpoint(e)
			}
		}
		gone := len(s.Endpoints) - len(kept)
		all += len(kept)
		switch minus += gone; {
		case same && gone == 0:
			unchanged = append(unchanged, s)
		case gone > 0 && len(kept) == 0:
			p.delete = append(p.delete, s)
		default:
			u := r.copySlice(s)
			if gone > 0 || !allEqual(kept, s.Endpoints) { // else they keep their hints
				u.Endpoints = u.Endpoints[:0]
				for _, x := range kept {
					u.Endpoints = append(u.Endpoints, x.endpoint())
				}
			}
			p.update = append(p.update, u)
		}
	}

	rest := r.unplacedCandidates(group)
	plus = len(rest)
	all += plus
	rest = r.fillSlices(p.update[first:], rest)
	for len(rest) > 0 {
		if s := roomiest(unchanged, len(rest), r.max); s != nil && len(rest) < r.max {
			unchanged = without(unchanged, s)
			u := r.copySlice(s)
			rest = r.topUpSlice(u, rest)
			p.update = append(p.update, u)
			continue
		}
		u := r.newSlice(t, r.ports[group])
		u.Endpoints = make([]discoveryv1.Endpoint, 0, min(r.max, len(rest)))
		rest = r.topUpSlice(u, rest)
		p.create = append(p.create, u)
	}

	p.unchanged = append(p.unchanged, unchanged...)
	return plus, minus, all
}

// findCandidate returns the candidate that the endpoint is of, if it is to be in a slice of the group and isn't yet.
func (r *reconciler) findCandidate(e *discoveryv1.Endpoint, group int) *candidate {
	if e.TargetRef == nil || len(r.candidates) == 0 {
		return nil
	}
	// Slices that were filled here have the order of the names.
	i := r.last + 1
	if i >= len(r.candidates) || !wire.Same(r.candidates[i].pod.Name, e.TargetRef.Name) {
		if r.byName == nil {
			r.byName = endpoint.NewTable(len(r.candidates), func(i int) string { return r.candidates[i].pod.Name })
		}
		if i = r.byName.Find(e.TargetRef.Name); i < 0 {
			return nil
		}
	}
	r.last = i
	if x := &r.candidates[i]; x.wanted && x.group == group && x.isSameEndpoint(e) {
		return x
	}
	return nil
}

// unplacedCandidates returns the group's endpoints that are in no slice yet.
func (r *reconciler) unplacedCandidates(group int) (rest []*candidate) {
	for i := range r.candidates {
		if x := &r.candidates[i]; x.wanted && x.group == group {
			rest = append(rest, x)
		}
	}
	return rest
}

// fillSlices puts endpoints into the slices, the fullest first, and returns those that found no room.
func (r *reconciler) fillSlices(slices []*discoveryv1.EndpointSlice, rest []*candidate) []*candidate {
	if len(rest) == 0 {
		return nil
	}
	order := append([]*discoveryv1.EndpointSlice(nil), slices...)
	for i := range order { // there are few
		for k := i; k > 0 && len(order[k].Endpoints) > len(order[k-1].Endpoints); k-- {
			order[k], order[k-1] = order[k-1], order[k]
		}
	}
	for _, s := range order {
		if len(s.Endpoints) < r.max {
			rest = r.topUpSlice(s, rest)
		}
	}
	return rest
}

// topUpSlice fills a slice that is to be written.
func (r *reconciler) topUpSlice(s *discoveryv1.EndpointSlice, rest []*candidate) []*candidate {
	n := min(r.max-len(s.Endpoints), len(rest))
	for _, x := range rest[:n] {
		x.wanted = false
		s.Endpoints = append(s.Endpoints, x.endpoint())
	}
	return rest[n:]
}

// roomiest is the slice that n more endpoints leave the least room in, nil where no slice takes them.
func roomiest(slices []*discoveryv1.EndpointSlice, n, most int) (best *discoveryv1.EndpointSlice) {
	room := most // an empty slice that stays empty is none
	for _, s := range slices {
		if left := most - n - len(s.Endpoints); left >= 0 && left < room {
			best, room = s, left
		}
	}
	return best
}

func without(slices []*discoveryv1.EndpointSlice, s *discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	for i := range slices {
		if slices[i] == s {
			return append(slices[:i:i], slices[i+1:]...)
		}
	}
	return slices
}

func allEqual(kept []*candidate, endpoints []discoveryv1.Endpoint) bool {
	for i, x := range kept {
		if !x.equalsEndpoint(&endpoints[i]) {
			return false
		}
	}
	return true
}

// copySlice returns the slice to be written, with the labels that it should have, and room for more endpoints.
func (r *reconciler) copySlice(s *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	u := *s
	u.Labels = r.labels
	u.Endpoints = append(make([]discoveryv1.Endpoint, 0, max(r.max, len(s.Endpoints))), s.Endpoints...)
	return &u
}
