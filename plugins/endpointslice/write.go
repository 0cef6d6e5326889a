package endpointslice

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	discoveryv1 "github.com/windlass-dev/windlass/sdk/api/discovery/v1"
)

// finalize writes a plan: creates, updates, deletes, up to the first that fails. A slice to be deleted takes the
// content of one to be created.
func (r *reconciler) finalize(p *plan) {
	n := 0
	for _, s := range p.delete {
		last := len(p.create) - 1
		if last < 0 || !r.ownsSlice(s) {
			p.delete[n] = s
			n++
			continue
		}
		u := r.copySlice(s)
		u.Ports, u.Endpoints = p.create[last].Ports, p.create[last].Endpoints
		p.create, p.update = p.create[:last], append(p.update, u)
	}
	p.delete = p.delete[:n]

	var w writes
	if !r.service.Deleting() { // else the garbage collector would race with us
		for _, s := range p.create {
			r.setTriggerTime(s)
			w.add("create", "failed to create", sdk.Create(s, sdk.Tolerate(abi.TolerateNamespaceTerminating)))
		}
	}
	for _, s := range p.update {
		r.setTriggerTime(s)
		w.add("update", "failed to update "+s.Name, sdk.Update(s))
	}
	for _, s := range p.delete {
		w.add("delete", "failed to delete "+s.Name, sdk.Delete(s))
	}
	if r.performWrites(&w) {
		changed.Add(r.call, float64(len(p.create)+len(p.update)+len(p.delete)), r.topologyMode(), r.distribution())
	}
}

// deleteSlice deletes a slice, whatever became of the other writes.
func (r *reconciler) deleteSlice(s *discoveryv1.EndpointSlice) {
	var w writes
	w.add("delete", "error deleting "+s.Name, sdk.Delete(s))
	r.performWrites(&w)
}

// writes are effects with their names in the metrics and what to say if they fail.
type writes struct {
	effects      []sdk.Effect
	verbs, fails []string
}

func (w *writes) add(verb, fails string, e sdk.Effect) {
	w.effects, w.verbs, w.fails = append(w.effects, e), append(w.verbs, verb), append(w.fails, fails)
}

// performWrites performs effects in order up to the first that fails, counts those that didn't, and tells whether none
// did.
func (r *reconciler) performWrites(w *writes) bool {
	if len(w.effects) == 0 {
		return true
	}
	outcomes, err := r.call.DoAll(w.effects...)
	for i := range outcomes {
		switch o := &outcomes[i]; {
		case o.Code == abi.CodeFailed:
			r.errors.add(w.fails[i] + " EndpointSlice for Service " + r.service.Namespace + "/" + r.service.Name + ": " +
				o.Message)
			return false
		case o.Code == abi.CodeOK && o.Reason == "": // else it was tolerated
			changes.Add(r.call, 1, w.verbs[i])
		}
	}
	if err != nil {
		r.errors.add(err.Error())
	}
	return err == nil
}

// setTriggerTime notes the time of the change that the write is about.
func (r *reconciler) setTriggerTime(s *discoveryv1.EndpointSlice) {
	if r.trigger.IsZero() {
		if s.Annotations.Has(corev1.EndpointsLastChangeTriggerTime) {
			s.Annotations = s.Annotations.Clone()
			s.Annotations.Delete(corev1.EndpointsLastChangeTriggerTime)
		}
		return
	}
	s.Annotations = s.Annotations.Clone()
	s.Annotations.Set(corev1.EndpointsLastChangeTriggerTime, r.trigger.String())
}

// failures collects errors into one, each once.
type failures []string

func (f *failures) add(text string) {
	for _, t := range *f {
		if t == text {
			return
		}
	}
	if len(*f) < 10 { // enough to know
		*f = append(*f, text)
	}
}

func (f failures) aggregate() error {
	switch len(f) {
	case 0:
		return nil
	case 1:
		return sdk.Errors(f[0])
	}
	text := "[" + f[0]
	for _, t := range f[1:] {
		text += ", " + t
	}
	return sdk.Errors(text, "]")
}
