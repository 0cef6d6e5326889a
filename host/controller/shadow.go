package controller

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/syncer"
)

// Shadow is a version that gets the same calls as the current one, and of which nothing is written: what it would have
// done otherwise is told.
type Shadow struct {
	Version *Version
	// Compared tells of each sync that both have run; the difference is nil where both answered the same.
	Compared func(*Difference)
}

// Difference is a sync that the shadow answered otherwise.
type Difference struct {
	Time       time.Time `json:"time"`
	Controller string    `json:"controller"`
	Key        string    `json:"key"`
	Live       string    `json:"live"` // digests
	Shadow     string    `json:"shadow"`
	// Text shows how: lines of the live answer alone begin with -, of the shadow's alone with +.
	Text string `json:"text"`
}

// SetShadow makes a version the shadow of whichever is current; nil ends it. The one before is given back; it is idle
// once drained.
func (c *Controller) SetShadow(s *Shadow) (before *Shadow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, c.shadow = c.shadow, s
	return before
}

// double is one sync of a shadow: prepared before the live sync begins, run after it has ended. As a witness of the
// live sync it learns what that was told in the middle of it.
type double struct {
	*Shadow
	syncer syncer.Syncer
	turn   syncer.Turn
	tape   record.Tape
	ended  []byte // the perform that ended the live sync
}

// shadowed prepares a sync of the shadow, nil if there is none. The shadow has a snapshot of its own, as its views may
// be others.
func (c *Controller) shadowed(ctx context.Context, live *syncer.Turn) *double {
	s := c.acquireShadow()
	if s == nil {
		return nil
	}
	return c.newDouble(ctx, s, live)
}

// acquireShadow returns the shadow, in use from now on; nil if there is none.
func (c *Controller) acquireShadow() *Shadow {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shadow != nil {
		c.shadow.Version.acquire()
	}
	return c.shadow
}

// newDouble prepares a sync of a version that is in use; nil if that can't be.
func (c *Controller) newDouble(ctx context.Context, s *Shadow, live *syncer.Turn) *double {
	d := &double{Shadow: s, syncer: syncer.Syncer{World: c.World, States: &c.states}}
	d.turn = syncer.Turn{Key: live.Key, Now: live.Now, Attempt: live.Attempt, Timer: live.Timer,
		Log: func(int32, string) {}}
	if err := d.syncer.Prepare(ctx, &s.Version.Target, &d.turn); err != nil {
		s.Version.release()
		return nil // the live version will say so, or has less to read
	}
	return d
}

// Request is the live sync's.
func (d *double) Request([]byte) {}

// Performed takes note of what the live version performed.
func (d *double) Performed(in, out []byte, err error) {
	if err != nil {
		d.ended = bytes.Clone(in)
	} else {
		d.tape.Recorded = append(d.tape.Recorded, record.Perform{In: bytes.Clone(in), Out: bytes.Clone(out)})
	}
}

// Answered is the live sync's.
func (d *double) Answered([]byte) {}

// syncShadow syncs the shadow with what the live version was told, and compares.
func (d *double) syncShadow(ctx context.Context, c *Controller, live *Version, o *syncer.Outcome, veil *record.Veil) {
	defer d.Version.release()
	if o.Answer == nil && o.Failed == nil {
		return // an ask of the live one failed: there is nothing to compare with
	}
	own := record.NewVeil(d.Version.Secrets)
	if own != nil {
		d.turn.Witnesses = []syncer.Witness{own}
	}

	d.tape.Same = func(in, recorded []byte) bool { return d.performsSame(live, in, recorded) }
	diverged := ""
	answer, _, err := d.syncer.Call(ctx, func(_ context.Context, in []byte, p *abi.PerformRequest) ([]byte, error) {
		left := d.tape.Left()
		out, err := d.tape.Perform(in)
		if err == nil {
			return out, nil
		}
		if out, ok := d.answerAsks(p); ok {
			return out, nil
		}
		own.Performed(in, nil, nil)
		diverged = difference(live, d.Version, &abi.SyncResponse{Effects: nextEffects(left)},
			&abi.SyncResponse{Effects: p.Effects}, veil, own)
		return nil, err // it ends at the first perform that the live one didn't make
	})

	text := ""
	switch {
	case diverged != "":
		text = diverged
	case err != nil && o.Answer != nil && ctx.Err() == nil:
		text = "+ " + own.Error(err).Error() + "\n"
	case err == nil && o.Answer == nil:
		text = "- " + veil.Error(o.Failed).Error() + "\n+ it answers\n"
	case err == nil:
		text = d.compare(live, o.Answer, answer, veil, own)
		if left := changingEffects(d.tape.Left()); text == "" && len(left) > 0 {
			text = difference(live, d.Version, &abi.SyncResponse{Effects: left}, &abi.SyncResponse{}, veil, own)
		}
	}
	if text == "" {
		d.Compared(nil)
		return
	}
	d.Compared(&Difference{Time: time.Now(), Controller: c.name, Key: d.turn.Key.String(), Live: live.Digest,
		Shadow: d.Version.Digest, Text: text})
}

// nextEffects returns the effects that were performed first of all that is left, none if nothing is.
func nextEffects(left []record.Perform) []abi.Effect {
	var p abi.PerformRequest
	if len(left) == 0 || abi.DecodePerform(left[0].In, &p) != nil {
		return nil
	}
	return p.Effects
}

// changingEffects returns the effects among performs that changed something, or may have: what was only asked for isn't
// missed.
func changingEffects(performs []record.Perform) (all []abi.Effect) {
	for i := range performs {
		all = append(all, nextEffects(performs[i:])...)
	}
	return slices.DeleteFunc(all, func(e abi.Effect) bool {
		switch e.Kind {
		case abi.EffectView, abi.EffectGet, abi.EffectList, abi.EffectDiscover, abi.EffectRead, abi.EffectFacts,
			abi.EffectReview, abi.EffectZone, abi.EffectSign:
			return true
		}
		return false
	})
}

// compare shows how two answers differ in what they want done; it is empty where they don't. Where only the bytes
// differ, because the versions read different fields, what would be written counts.
func (d *double) compare(live *Version, theirs, ours *abi.SyncResponse, veil, own *record.Veil) string {
	l, a := *theirs, *ours
	l.State, l.KeepState, l.Metrics = nil, false, nil
	a.State, a.KeepState, a.Metrics = nil, false, nil
	if bytes.Equal(abi.AppendResponse(nil, &l), abi.AppendResponse(nil, &a)) {
		return ""
	}
	lw, aw := l, a
	lw.Effects, aw.Effects = d.written(live, l.Effects), d.written(d.Version, a.Effects)
	if bytes.Equal(abi.AppendResponse(nil, &lw), abi.AppendResponse(nil, &aw)) {
		return ""
	}
	return difference(live, d.Version, &l, &a, veil, own)
}

// written returns a version's effects as they would leave what the shadow's sync saw.
func (d *double) written(v *Version, all []abi.Effect) []abi.Effect {
	return effects.Written(v.Plan.Seen, d.syncer.Snapshot(), all)
}

// performsSame reports whether a perform of the shadow's would write what the live version's did.
func (d *double) performsSame(live *Version, in, recorded []byte) bool {
	var ours, theirs abi.PerformRequest
	if abi.DecodePerform(in, &ours) != nil || abi.DecodePerform(recorded, &theirs) != nil {
		return false
	}
	ours.Effects, theirs.Effects = d.written(d.Version, ours.Effects), d.written(live, theirs.Effects)
	return bytes.Equal(abi.AppendPerform(nil, &ours), abi.AppendPerform(nil, &theirs))
}

// answerAsks answers a perform that only asks for lazy views, which costs nothing and changes nothing.
func (d *double) answerAsks(p *abi.PerformRequest) ([]byte, bool) {
	var out abi.PerformResponse
	for i := range p.Effects {
		e := &p.Effects[i]
		if e.Kind != abi.EffectView || e.Ask == nil {
			return nil, false
		}
		v, err := d.syncer.Snapshot().Ask(e.Ask)
		if err != nil {
			return nil, false
		}
		out.Outcomes = append(out.Outcomes, abi.Outcome{View: &v})
	}
	return abi.AppendPerformed(nil, &out), len(p.Effects) > 0
}

// difference shows how answers differ, without what the syncs have seen of secrets.
func difference(live, shadow *Version, theirs, ours *abi.SyncResponse, veil, own *record.Veil) string {
	l, a := *theirs, *ours
	l.Effects, a.Effects = veil.Effects(l.Effects), own.Effects(a.Effects)
	text := record.Diff(record.Describe(&l, manifestOf(live)).YAML(), record.Describe(&a, manifestOf(shadow)).YAML())
	if text == "" {
		return "+ it answers with other data of secrets\n"
	}
	return own.Text(veil.Text(text))
}

// manifestOf is as much of a manifest as a description needs.
func manifestOf(v *Version) *abi.Manifest {
	return &abi.Manifest{Name: v.Plugin, Controllers: []abi.Controller{*v.Manifest}}
}

// Differences keeps the last ones.
type Differences struct {
	mu   sync.Mutex
	last []Difference
}

// differencesMost is how many are kept; the text of one is cut at textMost bytes.
const (
	differencesMost = 50
	textMost        = 16 << 10
)

// Add adds one.
func (d *Differences) Add(x Difference) {
	x.Text = x.Text[:min(len(x.Text), textMost)]
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.last) == differencesMost {
		d.last = slices.Delete(d.last, 0, 1)
	}
	d.last = append(d.last, x)
}

// Of is how many of them are a shadow's, by the digest of its module.
func (d *Differences) Of(shadow string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.last {
		if d.last[i].Shadow == shadow {
			n++
		}
	}
	return n
}

// All returns them, the newest last.
func (d *Differences) All() []Difference {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.last)
}
