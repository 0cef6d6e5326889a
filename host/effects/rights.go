package effects

import (
	"errors"
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/printable"
)

// rights are a manifest's writes.
type rights map[right][]string

type right struct {
	resource    abi.Resource
	subresource string
}

func rightsOf(c *abi.Controller) rights {
	r := rights{}
	for _, w := range c.Writes {
		k := right{w.Resource, w.Subresource}
		r[k] = append(r[k], w.Verbs...)
	}
	return r
}

// allResources in a Write's resource name stands for every resource, as a namespace's deletion needs it.
const allResources = "*"

func (r rights) allowsVerb(resource abi.Resource, subresource, verb string) bool {
	return slices.Contains(r[right{resource, subresource}], verb) ||
		slices.Contains(r[right{abi.Resource{Name: allResources}, subresource}], verb)
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
	abi.EffectZone: "zone",
}

var errNotAllowed = errors.New("it is not among the writes of the controller's manifest")

// notAllowed reports what the manifest's author has left out.
func notAllowed(r abi.Resource, subresource, verb string) error {
	what := r.String()
	if subresource != "" {
		what += "/" + printable.Line(subresource, textMost)
	}
	return fmt.Errorf("%w: add %s of %s to them, if the controller is meant to do that", errNotAllowed, verb, what)
}

// updateVerb is how updates of a resource travel: as a PUT, or as a patch where the manifest has only that.
func (s *Session) updateVerb(r abi.Resource, subresource string) string {
	if !s.w.rights.allowsVerb(r, subresource, "update") && s.w.rights.allowsVerb(r, subresource, "patch") {
		return "patch"
	}
	return "update"
}
