package golden

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/views"
)

// host answers performed effects as a case has it, and takes notes.
type host struct {
	c        *Case
	custom   []abi.APIResource       // what is served and not built in
	read     map[string]*schema.Mask // by resource, what the controller declared
	snapshot *views.Snapshot
	cached   []*cache.Object // whole
	live     []*cache.Object
	answered []*cache.Object // to what the sync has created and updated
	out      *Output
	facts    map[string][]byte // by key, published by this sync
	deleted  map[*cache.Object]bool
	scales   []scale
	created  int
	used     used
}

func newHost(c *Case, read map[string]*schema.Mask) *host {
	h := &host{c: c, custom: servedResources(c.Discovery, c.defined), read: read, out: &Output{}, used: newUsed(c)}
	for _, s := range c.Scales {
		h.scales = append(h.scales, scale{Scale: s})
	}

	return h
}

func (h *host) perform(_ context.Context, _ []byte, r *abi.PerformRequest) ([]byte, error) {
	a := &abi.PerformResponse{}
	failed := false
	for i := range r.Effects {
		o, err := h.performEffect(&r.Effects[i], &failed)
		if err != nil {
			return nil, err
		}
		a.Outcomes = append(a.Outcomes, o)
	}

	return abi.AppendPerformed(nil, a), nil
}

var skipped = abi.Outcome{Code: abi.CodeSkipped, Message: "an earlier effect failed"}

func (h *host) performEffect(e *abi.Effect, failed *bool) (abi.Outcome, error) {
	if *failed && !e.Always {
		return skipped, nil
	}
	if e.Kind == abi.EffectView {
		v, err := h.snapshot.Ask(e.Ask)
		return abi.Outcome{View: &v}, err
	}
	if e.Kind == abi.EffectGroup {
		return h.performGroup(e, failed, func(i int, failed *bool) (abi.Outcome, error) {
			return h.performEffect(&e.Members[i], failed)
		})
	}

	note, err := h.describe(e)
	if err != nil {
		return abi.Outcome{}, err
	}
	note.Do = performs + note.Do
	o, err := h.performOne(e)
	if err != nil {
		return o, err
	}
	if o.Code == abi.CodeFailed {
		note.Failed = o.Reason
		*failed = true
	}
	h.out.Effects = append(h.out.Effects, note)
	return o, nil
}

// performGroup does the members one after another; in a slow start those behind a failed batch are skipped, as if all
// took equally long.
func (h *host) performGroup(e *abi.Effect, failed *bool,
	member func(i int, failed *bool) (abi.Outcome, error)) (abi.Outcome, error) {
	g := abi.Outcome{Members: make([]abi.Outcome, len(e.Members))}
	batch, end := 1, 1
	stop := false
	for i := range e.Members {
		if e.Mode == abi.SlowStart && i == end {
			stop = stop || g.Code == abi.CodeFailed
			batch *= 2
			end += batch
		}
		memberFailed := stop || e.Mode == abi.Sequence && g.Code == abi.CodeFailed
		o, err := member(i, &memberFailed)
		if err != nil {
			return g, err
		}
		g.Members[i] = o
		if o.Code == abi.CodeFailed && g.Code == abi.CodeOK && e.Mode != abi.Independent {
			g.Code, g.Reason, g.Message = o.Code, o.Reason, o.Message
		}
	}
	*failed = *failed || g.Code == abi.CodeFailed
	return g, nil
}

func (h *host) performOne(e *abi.Effect) (abi.Outcome, error) {
	if o, hit := h.failEffect(e); hit {
		if e.Kind == abi.EffectDelete && o.Reason == "NotFound" {
			if err := h.removeObjects(e); err != nil {
				return o, err
			}
		}
		if tolerated(e.Tolerate, o.Reason) {
			return abi.Outcome{Reason: o.Reason}, nil
		}
		return o, nil
	}

	if o, ok := h.answerRead(e); ok {
		return o, nil
	}
	if e.Subresource == "scale" {
		return h.performScale(e)
	}

	switch e.Kind {
	case abi.EffectDiscover:
		return h.discover(e.Discover)
	case abi.EffectList:
		return h.listObjects(e)
	case abi.EffectDelete, abi.EffectDeleteCollection:
		return abi.Outcome{}, h.removeObjects(e)
	case abi.EffectGet:
		return h.getObject(e)
	case abi.EffectReview:
		return h.review(e)
	case abi.EffectCreate:
		h.created++
		res, err := h.schemaOf(e)
		if err != nil {
			return abi.Outcome{}, err
		}
		t, err := decodeTyped(res, e.Object)
		if err != nil {
			return abi.Outcome{}, err
		}
		m := accessor(t)
		if m.GetName() == "" {
			m.SetName(m.GetGenerateName() + strconv.Itoa(h.created))
		}
		m.SetUID("uid-created-" + uid(h.created))
		m.SetResourceVersion(strconv.Itoa(2000 + h.created))
		o, err := encodeObject(res, t)
		if err != nil {
			return abi.Outcome{}, err
		}
		h.answered = append(h.answered, o)
		return answerObject(o), nil
	case abi.EffectUpdate:
		h.created++
		res, err := h.schemaOf(e)
		if err != nil {
			return abi.Outcome{}, err
		}
		o := &cache.Object{Resource: res, Namespace: e.Namespace, Name: e.Name,
			ResourceVersion: strconv.Itoa(2000 + h.created), Raw: slices.Clone(e.Object)}
		h.answered = append(h.answered, o)
		return answerObject(o), nil
	}
	return abi.Outcome{}, nil
}

// getObject shows what is there live: `live` before what the cache has. One of another UID than asked for isn't there.
func (h *host) getObject(e *abi.Effect) (abi.Outcome, error) {
	o := findObject(h.live, e)
	if o != nil {
		h.used.live[o] = true
	} else {
		o = findObject(h.cached, e)
	}
	if o == nil || annotated(o, "absent") || e.UID != "" && e.UID != string(o.UID) {
		return notFound(e), nil
	}
	a := answerObject(o)
	if e.Metadata {
		b, err := metadata(o)
		if err != nil {
			return a, err
		}
		a.Object.Data = b
	}
	return a, nil
}

// failEffect reports whether an effect fails, and how.
func (h *host) failEffect(e *abi.Effect) (abi.Outcome, bool) {
	for i := range h.c.Failures {
		f := &h.c.Failures[i]
		if f.Effect != kinds[e.Kind] || f.Resource != e.Resource || f.Subresource != e.Subresource || f.Name != "" &&
			f.Name != e.Name {
			continue
		}
		h.used.failures[i]++
		if seen := h.used.failures[i]; seen <= f.After || f.Times > 0 && seen > f.After+f.Times {
			continue
		}

		return abi.Outcome{Code: abi.CodeFailed, Reason: f.Reason, Message: f.Message}, true
	}

	return abi.Outcome{}, false
}

func tolerated(t abi.Tolerance, reason string) bool {
	bit := map[string]abi.Tolerance{"NotFound": abi.TolerateNotFound, "AlreadyExists": abi.TolerateAlreadyExists,
		"Conflict": abi.TolerateConflict, "Invalid": abi.TolerateInvalid,
		"NamespaceTerminating": abi.TolerateNamespaceTerminating}[reason]
	return bit&t != 0
}

func findObject(list []*cache.Object, e *abi.Effect) *cache.Object {
	for _, o := range list {
		if o.Resource.Resource.String() == e.Resource && o.Namespace == e.Namespace && o.Name == e.Name {
			return o
		}
	}
	return nil
}

func answerObject(o *cache.Object) abi.Outcome {
	return abi.Outcome{Name: o.Name, UID: string(o.UID), Object: abi.ObjectData{Data: o.Raw,
		ResourceVersion: o.ResourceVersion}}
}

func notFound(e *abi.Effect) abi.Outcome {
	return abi.Outcome{Code: abi.CodeFailed, Reason: "NotFound",
		Message: fmt.Sprintf("%s %q not found", e.Resource, e.Name)}
}

func (h *host) schemaOf(e *abi.Effect) (*schema.Resource, error) {
	if r, ok := abi.ParseResource(e.Resource); ok && e.Kind == abi.EffectReview {
		return schema.ForReview(r)
	}
	for _, r := range schema.All() {
		if r.String() == e.Resource {
			return schema.For(r)
		}
	}
	id, ok := abi.ParseResource(e.Resource)
	if ok && h.c == nil { // for [Notes], in which no kind is told
		return schema.Custom(id, id.Name, true), nil
	}
	for _, r := range h.custom {
		if ok && r.Resource == e.Resource {
			return schema.Custom(id, r.Kind, r.Namespaced), nil
		}
	}

	return nil, fmt.Errorf("effect on %q, which is neither built in nor defined: "+
		"give its CustomResourceDefinition in crd/*.yaml beside the cases' folder, or name it in discovery", e.Resource)
}
