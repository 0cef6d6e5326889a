package abi

import "slices"

// CachesWhole reports whether the cache keeps whole objects of a resource for the controller, managedFields aside. A
// controller that may update objects, or a subresource of them, needs that: its update is a PUT of the whole object,
// into whose bytes the host splices what the plugin changed. So does one that has the host sign with Secrets, of which
// the plugin doesn't see what the host signs with. Pods and nodes are too many; of one of them the whole object is read
// before the update.
//
// The cache is filled by it and updates are spliced by it: were they of two minds, a PUT would send a truncated object.
func (c *Controller) CachesWhole(r Resource) bool {
	if r.Group == "" && (r.Name == "pods" || r.Name == "nodes") {
		return false
	}

	return slices.ContainsFunc(c.Writes, func(w Write) bool {
		return w.Resource == r && (slices.Contains(w.Verbs, "update") ||
			r.Group == "" && r.Name == "secrets" && slices.Contains(w.Verbs, "sign"))
	})
}
