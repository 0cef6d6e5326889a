package effects

import (
	"context"
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/zones"
)

// performOne does one effect that isn't a group.
func (s *Session) performOne(ctx context.Context, e *abi.Effect) (abi.Outcome, error) {
	if err := checkLimits(e); err != nil {
		return s.failedOutcome(e, err)
	}

	switch e.Kind {
	case abi.EffectView:
		data, err := s.ask(ctx, e.Ask)
		if err != nil {
			s.noteFailedAsk(err)
			return s.failedOutcome(e, err)
		}
		return abi.Outcome{View: &data}, nil
	case abi.EffectWake:
		k := e.Wake.Key
		s.w.Wake(s.key, e.Wake.Controller, abi.KeyRef{Resource: strings.Clone(k.Resource),
			Namespace: strings.Clone(k.Namespace), Name: strings.Clone(k.Name)})
		return abi.Outcome{}, nil
	case abi.EffectDiscover, abi.EffectRead:
		o, err := s.discoverOrRead(ctx, e)
		if err != nil {
			return s.failedOutcome(e, err)
		}
		return o, nil
	case abi.EffectPublish:
		if err := s.w.facts.publish(s.key, e.Object, e.Terms); err != nil {
			return s.failedOutcome(e, err)
		}
		return abi.Outcome{}, nil
	case abi.EffectFacts:
		return abi.Outcome{Facts: s.w.facts.inNamespace(e.Namespace, e.Terms)}, nil
	case abi.EffectZone:
		p, err := zones.Find(e.Zone)
		if err != nil {
			return s.failedOutcome(e, err)
		}
		return abi.Outcome{Zone: p}, nil
	case abi.EffectSign:
		o, err := s.sign(ctx, e)
		if err != nil {
			return s.failedOutcome(e, err)
		}
		return o, nil
	}

	find := s.w.resources.find
	if e.Kind == abi.EffectReview {
		find = s.w.resources.reviewed
	}

	res, err := find(e.Resource)
	if err == nil {
		res, err = s.resolveForm(ctx, e, res)
	}
	if err != nil {
		return s.failedOutcome(e, err)
	}
	if e.Kind != abi.EffectEvent {
		if err := s.mayAsk(e, res); err != nil {
			return s.failedOutcome(e, err)
		}
	}

	if s.countsAsDelete(e, res) {
		if err := s.spendDelete(); err != nil {
			return s.failedOutcome(e, err)
		}
	}

	var o abi.Outcome
	switch e.Kind {
	case abi.EffectEvent:
		s.recordEvent(e, res)
		s.tellEvent(e)
	case abi.EffectCreate:
		o, err = s.create(ctx, e, res)
	case abi.EffectReview:
		o, err = s.sendReview(ctx, e, res)
	case abi.EffectUpdate:
		o, err = s.update(ctx, e, res)
	case abi.EffectPatch, abi.EffectApply:
		o, err = s.patch(ctx, e, res)
	case abi.EffectDelete, abi.EffectEvict:
		o, err = s.remove(ctx, e, res)
	case abi.EffectDeleteCollection:
		o, err = s.deleteCollection(ctx, e, res)
	case abi.EffectGet:
		o, err = s.get(ctx, e, res)
	case abi.EffectList:
		o, err = s.list(ctx, e, res)
	default:
		err = fmt.Errorf("unknown kind of effect %d", e.Kind)
	}

	if err != nil {
		return s.failedOutcome(e, err)
	}
	return o, nil
}

// mayAsk reports why nothing is asked of the API server: the grant doesn't cover the effect, or what it names can't be
// asked for.
func (s *Session) mayAsk(e *abi.Effect, res *schema.Resource) error {
	if !isMisplaced(e, res) {
		if err := s.granted(e, res, func(objectKey) bool { return false }); err != nil {
			return err
		}
	}
	return checkAddress(e, res)
}

// ask delivers a lazy view, which is as new as the question where that demands it.
func (s *Session) ask(ctx context.Context, a *abi.Ask) (abi.ViewData, error) {
	if a.Fresh {
		about := ""
		if a.Shared {
			about = s.bases.keyVersion(s.key)
		}
		if err := s.w.waitForFresh(ctx, a, about); err != nil {
			return abi.ViewData{}, err
		}
	}
	return s.bases.ask(a)
}

// resolveForm returns the resource as the effect wants it: with metadata alone where it says so, and with a kind where
// one is sent.
func (s *Session) resolveForm(ctx context.Context, e *abi.Effect, res *schema.Resource) (*schema.Resource, error) {
	switch {
	case res.Custom && res.Kind == "" && sendsKind(e):
		return s.w.Discovery.Resource(ctx, res.Resource)
	case !res.Partial && e.Metadata:
		return schema.Partial(res.Resource, res.Kind, res.Namespaced), nil
	}
	return res, nil
}

// sendsKind reports whether the server is sent the kind of the effect's resource.
func sendsKind(e *abi.Effect) bool {
	switch e.Kind {
	case abi.EffectCreate, abi.EffectUpdate:
		return !ownBody(e.Subresource)
	case abi.EffectApply:
		return !envelope.IsJSON(e.Object)
	}
	return e.Kind == abi.EffectEvent
}
