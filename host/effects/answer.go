package effects

import (
	"fmt"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// opened is an object that the server answered with.
type opened struct {
	raw []byte
	meta
}

func openAnswer(res *schema.Resource, b []byte) (opened, error) {
	_, kind, raw, err := unwrapOf(res, b)
	if err != nil || kind == "Status" {
		return opened{}, err
	}
	m, err := readMeta(raw)
	if err != nil {
		return opened{}, fmt.Errorf("the server's answer: %w", err)
	}
	return opened{raw: raw, meta: m}, nil
}

// acceptWritten takes in the answer to a create, an update or a patch: the next base, the barrier, the echo, and the
// outcome.
func (s *Session) acceptWritten(e *abi.Effect, res *schema.Resource, b, sent []byte) (abi.Outcome, error) {
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

	k := s.objectKeyOf(e, res)
	k.name = a.name
	switch e.Subresource {
	case "binding", "token":
		return o, nil
	}

	s.moveBase(k, res, a.meta, a.raw, sent, e)
	if k.scale {
		// A scale carries its parent's version: the parent's cached form is no base for this sync's next update of it.
		s.w.wait.written(s.key, res.Resource, a.resourceVersion)
		s.w.noteWritten(a.uid, a.resourceVersion)
		return o, nil
	}

	if a.deleting && a.noGrace && a.finalizers == 0 && !staysFor(res, a.raw) {
		// This write was the last thing that kept the object: the answer has the version from before the deletion.
		s.w.wait.removed(s.key, gone{resource: res.Resource, namespace: k.namespace, name: k.name, uid: a.uid})
		s.loseBase(k)
		return o, nil
	}
	s.w.wait.written(s.key, res.Resource, a.resourceVersion)
	s.w.noteWritten(a.uid, a.resourceVersion)
	return o, nil
}

// staysFor reports whether a deleted namespace still has finalizers in its spec, which keep it. Its metadata alone
// don't show them.
func staysFor(res *schema.Resource, raw []byte) bool {
	return res.Resource == namespacesResource && (res.Partial || namespaceFinalizersOf(raw) > 0)
}

var namespacesResource = abi.Resource{Version: "v1", Name: "namespaces"}
