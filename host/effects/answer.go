package effects

import (
	"fmt"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/barrier"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/schema"
)

// opened is an object that the server answered with.
type opened struct {
	raw []byte
	envelope.Meta
}

func openAnswer(res *schema.Resource, b []byte) (opened, error) {
	_, kind, raw, err := envelope.UnwrapOf(res, b)
	if err != nil || kind == "Status" {
		return opened{}, err
	}
	m, err := envelope.ReadMeta(raw)
	if err != nil {
		return opened{}, fmt.Errorf("the server's answer: %w", err)
	}
	return opened{raw: raw, Meta: m}, nil
}

// acceptWritten takes in the answer to a create, an update or a patch, which was made of from: the next base, the
// barrier, the echo, and the outcome.
func (s *Session) acceptWritten(e *abi.Effect, res *schema.Resource, from origin, b, sent []byte) (abi.Outcome, error) {
	a, err := openAnswer(res, b)
	if err != nil {
		return abi.Outcome{}, err
	}
	if a.raw == nil {
		return abi.Outcome{}, nil // a Status: a binding, say
	}

	o, err := s.outcome(e.Subresource, res, a)
	if err != nil {
		return abi.Outcome{}, err
	}
	if e.DryRun {
		if !res.Partial {
			o.Object.Data = a.raw // what the server would make of it is what was asked
		}
		return o, nil
	}

	k := objectKeyOf(e, res)
	k.name = a.Name
	switch e.Subresource {
	case "binding", "token":
		return o, nil
	}

	s.bases.move(k, res, a.Meta, a.raw, sent, e)
	if k.scale {
		// A scale carries its parent's version: the parent's cached form is no base for this sync's next update of it.
		s.w.wait.Written(s.key, res.Resource, a.ResourceVersion)
		s.w.noteWritten(a.UID, from, a.ResourceVersion)
		return o, nil
	}

	if a.Deleting && a.NoGrace && a.Finalizers == 0 && !staysFor(res, a.raw) {
		// This write was the last thing that kept the object: the answer has the version from before the deletion.
		s.w.wait.Removed(s.key, barrier.Gone{Resource: res.Resource, Namespace: k.namespace, Name: k.name, UID: a.UID})
		s.bases.lose(k)
		return o, nil
	}
	s.w.wait.Written(s.key, res.Resource, a.ResourceVersion)
	s.w.noteWritten(a.UID, from, a.ResourceVersion)
	return o, nil
}

// staysFor reports whether a deleted namespace still has finalizers in its spec, which keep it. Its metadata alone
// don't show them.
func staysFor(res *schema.Resource, raw []byte) bool {
	return res.Resource == namespacesResource && (res.Partial || envelope.NamespaceFinalizers(raw) > 0)
}

var namespacesResource = abi.Resource{Version: "v1", Name: "namespaces"}
