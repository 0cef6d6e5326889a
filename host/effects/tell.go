package effects

import (
	"strings"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/apiserver"
	"github.com/windlass-dev/windlass/host/effects/envelope"
)

// EventVerb is the Verb of what isn't a write to an object: an event about it was handed on to be written, as
// client-go's recorders do that, in the background.
const EventVerb = "event on"

// Write is a write that was done, as [Options] Wrote is told of it.
type Write struct {
	Verb, Resource, Subresource string
	Namespace, Name             string // Name is empty where a collection was deleted
	UID                         string
	// ResourceVersion is the object's after the write; empty where the answer doesn't tell, as those to deletes.
	ResourceVersion string
}

// tellEvent tells of an event that was recorded.
func (s *Session) tellEvent(e *abi.Effect) {
	if s.w.Wrote == nil {
		return
	}
	id := strings.Clone(e.Resource)
	if r, ok := abi.ParseResource(e.Resource); ok {
		id = s.w.resources.id(r)
	}
	s.w.Wrote(s.key, Write{Verb: EventVerb, Resource: id, Namespace: strings.Clone(e.Namespace),
		Name: strings.Clone(e.Name), UID: strings.Clone(e.UID)})
}

// reportWrite reports a write that the server has answered. All that a guest's message or a request's buffer holds is
// copied.
func (s *Session) reportWrite(e *abi.Effect, r *apiserver.Request, a answer, err error) {
	if s.w.Wrote == nil || err != nil || e.DryRun {
		return
	}
	x := Write{
		Verb: r.Verb, Resource: s.w.resources.id(r.Resource), Subresource: strings.Clone(r.Subresource),
		Namespace: strings.Clone(r.Namespace), Name: strings.Clone(r.Name), UID: strings.Clone(e.UID),
	}
	if _, kind, raw, err := envelope.UnwrapAny(a.body); err == nil && kind != "Status" && !ownBody(r.Subresource) &&
		r.Verb != "deletecollection" {
		if m, err := envelope.ReadMeta(raw); err == nil {
			x.Namespace, x.Name, x.UID = m.Namespace, m.Name, m.UID
			if r.Verb != "delete" {
				x.ResourceVersion = m.ResourceVersion
			}
		}
	}
	s.w.Wrote(s.key, x)
}
