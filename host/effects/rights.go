package effects

import (
	"errors"
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/printable"
)

// rights are a manifest's writes.
type rights map[right][]abi.Write

type right struct {
	resource    abi.Resource
	subresource string
}

func rightsOf(c *abi.Controller) rights {
	r := rights{}
	for _, w := range c.Writes {
		k := right{w.Resource, w.Subresource}
		r[k] = append(r[k], w)
	}
	return r
}

// allResources in a Write's resource name stands for every resource, as a namespace's deletion needs it.
const allResources = "*"

// allows reports whether a right covers a verb on what an effect names.
func (r rights) allows(resource abi.Resource, subresource, verb string, e *abi.Effect) bool {
	covers := func(w abi.Write) bool { return w.Covers(verb, e.Namespace, e.Name) }
	return slices.ContainsFunc(r[right{resource, subresource}], covers) ||
		slices.ContainsFunc(r[right{abi.Resource{Name: allResources}, subresource}], covers)
}

// verbs of the effects, as RBAC names them. A review is a create, an apply is a patch, an eviction a create of its
// subresource.
var verbs = map[abi.EffectKind]string{
	abi.EffectCreate: "create", abi.EffectUpdate: "update", abi.EffectPatch: "patch", abi.EffectApply: "patch",
	abi.EffectDelete: "delete", abi.EffectEvict: "create", abi.EffectDeleteCollection: "deletecollection",
	abi.EffectEvent: "event", abi.EffectGet: "get", abi.EffectList: "list", abi.EffectReview: "create",
	abi.EffectView: "view", abi.EffectGroup: "group", abi.EffectWake: "wake", abi.EffectDiscover: "discover",
	abi.EffectRead:    "read",
	abi.EffectPublish: "publish", abi.EffectFacts: "facts",
	abi.EffectZone: "zone", abi.EffectSign: "sign",
}

var errNotAllowed = errors.New("it is not among the writes of the controller's manifest")

// notAllowed reports what the manifest's author has left out.
func (r rights) notAllowed(resource abi.Resource, subresource, verb string, e *abi.Effect) error {
	what := resource.String()
	if subresource != "" {
		what += "/" + printable.Line(subresource, textMost)
	}
	has := func(w abi.Write) bool { return slices.Contains(w.Verbs, verb) }
	if slices.ContainsFunc(r[right{resource, subresource}], has) { // of other objects
		what += " " + printable.Line(abi.KeyRef{Namespace: e.Namespace, Name: e.Name}.String(), textMost)
	}
	return fmt.Errorf("%w: add %s of %s to them, if the controller is meant to do that", errNotAllowed, verb, what)
}

// updateVerb is how an update of a resource travels: as a PUT, or as a patch where the manifest has only that.
func (s *Session) updateVerb(r abi.Resource, e *abi.Effect) string {
	if !s.w.rights.allows(r, e.Subresource, "update", e) && s.w.rights.allows(r, e.Subresource, "patch", e) {
		return "patch"
	}
	return "update"
}
