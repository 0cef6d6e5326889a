package endpointslicemirroring

import (
	"slices"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	discoveryv1 "github.com/windlass-dev/windlass/sdk/api/discovery/v1"
)

// plan is what is to become of a key's slices.
type plan struct {
	create, update, delete []*discoveryv1.EndpointSlice
}

// reuse has slices that would be deleted take the content of those that would be created, where they are of the same
// address type: that is one write less.
func (p *plan) reuse() {
	kept := p.delete[:0]
next:
	for _, gone := range p.delete {
		for i, s := range p.create {
			if s.AddressType != gone.AddressType {
				continue
			}
			u := sdk.Copy(gone)
			u.Labels, u.Annotations, u.OwnerReferences = s.Labels, s.Annotations, s.OwnerReferences
			u.Ports, u.Endpoints = s.Ports, s.Endpoints
			p.update = append(p.update, u)
			p.create = append(p.create[:i], p.create[i+1:]...)
			continue next
		}
		kept = append(kept, gone)
	}
	p.delete = kept
}

// write does what is planned, at a first attempt up to the first write that fails. A later one goes on behind it, for
// what is refused for ever must not keep back the others; slices are deleted only where none of their address type is
// refused. Endpoints that are being deleted get no new slices, and where their namespace ends the rest is left to its
// end.
func (p *plan) write(c *sdk.Call, e *corev1.Endpoints) error {
	of := " EndpointSlice for Endpoints " + e.Namespace + "/" + e.Name + ": "
	var first error
	var refused []discoveryv1.AddressType
	stops := func(s *discoveryv1.EndpointSlice, err error) bool {
		if err == nil {
			return false
		}
		if first == nil {
			first = err
		}
		refused = append(refused, s.AddressType)
		return c.Attempt() == 0
	}

	if !e.Deleting() {
		for _, s := range p.create {
			effect := sdk.Create(s, sdk.Tolerate(abi.TolerateNamespaceTerminating))
			if ended, err := perform(c, effect, "create", "failed to create"+of); ended || stops(s, err) {
				return first
			}
		}
	}
	for _, s := range p.update {
		if _, err := perform(c, sdk.Update(s), "update", "failed to update "+s.Name+of); stops(s, err) {
			return first
		}
	}
	for _, s := range p.delete {
		if slices.Contains(refused, s.AddressType) {
			continue
		}
		if _, err := perform(c, sdk.Delete(s), "delete", "failed to delete "+s.Name+of); stops(s, err) {
			return first
		}
	}
	return first
}

// perform does one write and counts it. It reports whether it was refused because the namespace ends.
func perform(c *sdk.Call, e sdk.Effect, verb, fails string) (ended bool, err error) {
	outcomes, err := c.DoAll(e)
	switch {
	case err != nil:
		return false, sdk.Errors(fails, err.Error())
	case outcomes[0].Reason != "":
		return true, nil
	}
	changes.Add(c, 1, verb)
	return false, nil
}
