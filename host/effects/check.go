package effects

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/names"
	"github.com/windlass-dev/windlass/host/grant"
	"github.com/windlass-dev/windlass/host/printable"
	"github.com/windlass-dev/windlass/host/schema"
)

// RefusedError says why an answer was refused as a whole; nothing of it was written.
type RefusedError struct {
	Plugin, Controller string
	Key                abi.KeyRef
	Effect             string // its index; "2.0" is the first member of the group at 2
	Verb, Resource     string
	Err                error
}

func (e *RefusedError) Error() string {
	what := strings.TrimSpace(e.Verb + " " + e.Resource)
	return fmt.Sprintf("plugin %q: controller %s: key %s: effect %s (%s) refused, nothing of the answer was written: %v",
		e.Plugin, e.Controller, e.Key.String(), e.Effect, what, e.Err)
}

func (e *RefusedError) Unwrap() error { return e.Err }

// Refused reports whether an answer was refused for what the plugin may not do, or can't mean. One that is over a limit
// isn't: objects can bring it about.
func Refused(err error) bool { return errors.As(err, new(*RefusedError)) && !OverLimit(err) }

// limits of one answer, groups counted with all their members.
const (
	effectsMax = 100_000
	groupDepth = 4
	partMax    = 1024    // bytes of the name of a time zone
	pathMax    = nameMax // bytes of a path that is read, with its query
	eventMax   = 8 << 10 // bytes of an event's message; what is longer is cut: many events wait to be sent
	// bytes of an event's reason and of its object's names, UID and version, which many waiting events hold
	eventNamesMax = 4 << 10
	wakesMax      = 10_000 // keys of siblings, in a whole sync
)

// checkEffects looks at all effects of an answer before any of them is done.
func (s *Session) checkEffects(effects []abi.Effect) error {
	c := checker{Session: s, wakes: s.wakes, touched: map[objectKey]bool{}, created: map[objectKey]bool{}}
	if err := c.checkList(effects, "", 0); err != nil {
		if s.w.Metrics.Refused != nil {
			s.w.Metrics.Refused()
		}
		return err
	}
	s.wakes = c.wakes
	return s.reserve(c.deletes)
}

type checker struct {
	*Session
	count   int
	wakes   int                // that the sync has asked for
	touched map[objectKey]bool // objects whose base an earlier effect of this answer moves
	created map[objectKey]bool // those that it makes
	deletes int                // that count against the budget
	// examines says that nothing is going to be done: what was read live, and what the operator grants, isn't looked at.
	examines bool
}

func (c *checker) checkList(effects []abi.Effect, prefix string, depth int) error {
	for i := range effects {
		e := &effects[i]
		c.count++
		index := fmt.Sprintf("%s%d", prefix, i)
		err := c.checkEffect(e)
		if c.count > effectsMax {
			err = &CountError{"effects of an answer", effectsMax}
		}

		if err == nil && e.Kind == abi.EffectGroup && depth == groupDepth {
			err = fmt.Errorf("groups are nested at most %d deep", groupDepth)
		}
		if err != nil {
			r := &RefusedError{Plugin: c.w.Plugin, Controller: c.w.Controller.Name, Key: c.key, Effect: index,
				Verb: verbs[e.Kind], Resource: printable.Line(e.Resource, textMost), Err: err}
			if e.Subresource != "" {
				r.Resource += "/" + printable.Line(e.Subresource, textMost)
			}
			return r
		}
		if err := c.checkList(e.Members, index+".", depth+1); err != nil {
			return err
		}
	}
	return nil
}

// objectMax is how large the API server lets a request's body be (MaxRequestBodyBytes in
// k8s.io/apiserver/pkg/server/config.go).
const objectMax = 3 << 20

// textMost bounds what is said of a guest's text, in bytes.
const textMost = 256

func (c *checker) checkEffect(e *abi.Effect) error {
	switch e.Kind {
	case abi.EffectGroup:
		if e.Mode < abi.Sequence || e.Mode > abi.Independent {
			return fmt.Errorf("unknown group mode %d", e.Mode)
		}
		return nil
	case abi.EffectView:
		if e.Ask == nil || e.Ask.View < 0 || int(e.Ask.View) >= len(c.w.Controller.Views) {
			return errors.New("it asks for a view that the manifest doesn't have")
		}
		return nil
	case abi.EffectWake:
		if e.Wake == nil {
			return errors.New("it names no key")
		}
		if c.w.Wake == nil {
			return errors.New("this controller has no siblings to wake")
		}
		if c.wakes++; c.wakes > wakesMax {
			return &CountError{"keys of the plugin's controllers that a sync wakes", wakesMax}
		}
		return nil
	case abi.EffectDiscover:
		if e.Discover == nil || c.w.Discovery == nil {
			return errors.New("it doesn't say what to discover, or this host has no discovery")
		}
		return nil
	case abi.EffectRead:
		return c.mayRead(e)
	case abi.EffectPublish, abi.EffectFacts:
		return nil
	case abi.EffectZone:
		if e.Zone == nil {
			return errors.New("it names no time zone")
		}
		return nil
	case abi.EffectSign:
		return c.checkSign(e)
	}

	if e.Kind != abi.EffectGroup && len(e.Members) > 0 {
		return errors.New("only a group has members")
	}
	verb, known := verbs[e.Kind]
	if !known {
		return fmt.Errorf("unknown kind of effect %d", e.Kind)
	}

	find := c.w.resources.find
	if e.Kind == abi.EffectReview {
		find = c.w.resources.reviewed
	}

	res, err := find(e.Resource)
	if err != nil {
		return err
	}
	if e.Kind == abi.EffectEvent {
		if c.w.Controller.EventSource == "" || c.w.teller == nil {
			return errors.New("the controller's manifest names no eventSource")
		}
		if e.Event == nil || e.Event.Reason == "" || (e.Event.Type != "Normal" && e.Event.Type != "Warning") {
			return errors.New("an event has a reason and the type Normal or Warning")
		}
		return c.grantedEvent(e, res)
	}
	if e.Kind == abi.EffectUpdate {
		verb = c.updateVerb(res.Resource, e)
	}

	subresource := e.Subresource
	if e.Kind == abi.EffectEvict {
		subresource = "eviction"
	}
	if !c.w.rights.allows(res.Resource, subresource, verb, e) {
		return c.w.rights.notAllowed(res.Resource, subresource, verb, e)
	}

	if err := metadataOf(e); err != nil {
		return err
	}
	if err := c.checkShape(e, res); err != nil {
		return err
	}
	if isMisplaced(e, res) || len(e.Object) > objectMax {
		return nil // nothing is asked of the API server
	}
	if e.Metadata && !res.Partial {
		res = schema.Partial(res.Resource, res.Kind, res.Namespaced)
	}

	if c.examines {
		return c.examine(e, res)
	}
	if err := c.prepare(e, res); err != nil {
		return err
	}
	if c.countsAsDelete(e, res) {
		c.deletes++
	}
	return c.granted(e, res, func(k objectKey) bool { return c.created[k] })
}

// metadataOf reports why an effect can't be done on the metadata of objects alone, where that is asked for.
func metadataOf(e *abi.Effect) error {
	if !e.Metadata {
		return nil
	}
	switch e.Kind {
	case abi.EffectGet, abi.EffectList, abi.EffectPatch, abi.EffectDelete, abi.EffectDeleteCollection:
	default:
		return errors.New("an effect on metadata alone must be a get, list, patch, delete or deletecollection")
	}
	if ownBody(e.Subresource) {
		return fmt.Errorf("a %s has no metadata of its own", e.Subresource)
	}
	return nil
}

// checkShape checks what can be checked without looking at the object.
func (c *checker) checkShape(e *abi.Effect, res *schema.Resource) error {
	namespaced, scoped := res.Namespaced, !res.Custom // of a resource that isn't built in the server knows the scope
	if err := names.Subresource(e.Subresource); err != nil {
		return err
	}
	if scoped && !namespaced && e.Namespace != "" && !isMisplaced(e, res) {
		return fmt.Errorf("the resource has no namespaces, the effect names %q", printable.Line(e.Namespace, textMost))
	}
	if e.Tolerate&^31 != 0 {
		return fmt.Errorf("unknown tolerance %d", e.Tolerate)
	}
	if e.Precondition < abi.PreconditionDefault || e.Precondition > abi.PreconditionNone {
		return fmt.Errorf("unknown precondition %d", e.Precondition)
	}

	if e.Kind == abi.EffectCreate && e.Subresource == "eviction" {
		return errors.New("use an evict effect to evict a pod: it has a precondition and counts as a delete")
	}

	many := e.Kind == abi.EffectList || e.Kind == abi.EffectDeleteCollection
	creates := e.Kind == abi.EffectCreate && e.Subresource == "" || e.Kind == abi.EffectReview
	if scoped && namespaced && e.Namespace == "" && !creates && e.Kind != abi.EffectList {
		return errors.New("it names no namespace")
	}
	if e.Name == "" && !many && !creates {
		return errors.New("it names no object")
	}

	switch e.Kind {
	case abi.EffectCreate, abi.EffectUpdate, abi.EffectPatch, abi.EffectApply, abi.EffectReview:
		if len(e.Object) == 0 {
			return errors.New("it has no object")
		}
	}

	switch e.Kind {
	case abi.EffectPatch:
		if patchTypes[e.Patch] == "" {
			return fmt.Errorf("unknown patch type %d", e.Patch)
		}
	case abi.EffectDelete, abi.EffectDeleteCollection:
		if e.Propagation < abi.PropagationDefault || e.Propagation > abi.PropagationOrphan {
			return fmt.Errorf("unknown propagation policy %d", e.Propagation)
		}
		if e.HasGrace && e.Grace < 0 {
			return fmt.Errorf("grace period of %d seconds", e.Grace)
		}
	}
	return nil
}

// mayRead reports whether the manifest and the operator's grant have a read. The right to all resources is none to
// paths: it names no group.
func (c *checker) mayRead(e *abi.Effect) error {
	r, err := parseResource(e.Resource)
	if err != nil {
		return err
	}
	p, err := parsePath(e.Path)
	if err != nil {
		return err
	}
	if err := p.checkWithin(r); err != nil {
		return err
	}
	err = errNotAllowed
	for _, verb := range []string{"get", "list"} {
		covers := func(w abi.Write) bool { return w.Covers(verb, p.namespace(), "") }
		if !slices.ContainsFunc(c.w.rights[right{resource: r}], covers) {
			continue
		}
		q := grant.Request{Verb: verb, Resource: r, Namespace: p.namespace()}
		if c.w.Grant.Ask(q).Allowed { // labels aren't known of what a path gives
			return nil
		}
		err = c.w.missing(q)
	}
	return err
}
