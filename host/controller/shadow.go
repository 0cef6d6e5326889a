package controller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/views"
)

// Shadow is a version that gets the same calls as the current one, and of which nothing is written: what it would have done otherwise is told.
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

// SetShadow makes a version the shadow of whichever is current; nil ends it. The one before is given back; it is idle once drained.
func (c *Controller) SetShadow(s *Shadow) (before *Shadow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, c.shadow = c.shadow, s
	return before
}

// double is one sync of a shadow: prepared before the live sync begins, run after it has ended.
type double struct {
	*Shadow
	key      Key
	snapshot views.Snapshot
	request  []byte
	performs []performed
}

type performed struct{ in, out []byte }

// shadowed prepares a sync of the shadow, nil if there is none. The shadow has a snapshot of its own, as its views may be others.
func (c *Controller) shadowed(v *Version, live *abi.SyncRequest) *double {
	c.mu.Lock()
	s := c.shadow
	if s != nil {
		s.Version.begin()
	}
	c.mu.Unlock()
	if s == nil {
		return nil
	}
	d := &double{Shadow: s, key: live.Key}
	r := *live
	r.Views, r.Controller, r.Settings = nil, s.Version.Index, s.Version.Settings
	if s.Version.State != v.State {
		r.State = nil
	}
	err := s.Version.Plan.Snapshot(c.World, live.Key, &d.snapshot)
	d.snapshot.Request(&r)
	if size := abi.SizeRequest(&r); err != nil || size > abi.MessageMax {
		s.Version.end()
		return nil // the live version will say so, or has less to read
	}
	d.request = abi.AppendRequest(nil, &r)
	return d
}

// saw takes note of what the live version performed.
func (d *double) saw(in, out []byte, err error) {
	if d != nil && err == nil {
		d.performs = append(d.performs, performed{bytes.Clone(in), bytes.Clone(out)})
	}
}

// errDiverges ends a shadow's sync at the first perform that the live one didn't make.
var errDiverges = errors.New("it performs something else")

// run syncs the shadow with what the live version was told, and compares.
func (d *double) run(ctx context.Context, c *Controller, live *Version, answer *abi.SyncResponse, veil *record.Veil, failed error) {
	defer d.Version.end()
	own := record.NewVeil(d.Version.Secrets)
	own.Request(d.request)
	failed = veil.Error(failed)
	next, diverged := 0, ""
	call := &sandbox.Call{
		Size:  len(d.request),
		Write: func(b []byte) { copy(b, d.request) },
		Perform: func(_ context.Context, in []byte) (out []byte, err error) {
			defer func() { own.Performed(in, out) }()
			if next < len(d.performs) && bytes.Equal(in, d.performs[next].in) {
				next++
				return d.performs[next-1].out, nil
			}
			var p abi.PerformRequest
			if err := abi.DecodePerform(in, &p); err != nil {
				return nil, fmt.Errorf("%w: perform: %w", errRefused, err)
			}
			if out, ok := d.asks(&p); ok {
				return out, nil
			}
			var theirs []abi.Effect
			if next < len(d.performs) {
				var l abi.PerformRequest
				if abi.DecodePerform(d.performs[next].in, &l) == nil {
					theirs = l.Effects
				}
			}
			own.Performed(in, nil)
			diverged = difference(live, d.Version, &abi.SyncResponse{Effects: theirs}, &abi.SyncResponse{Effects: p.Effects}, veil, own)
			return nil, errDiverges
		},
		Log: func(int32, string) {},
	}
	var text string
	_, err := d.Version.Module.Sync(ctx, call, func(b []byte) error {
		own.Answered(b)
		var a abi.SyncResponse
		if err := abi.DecodeResponse(b, &a); err != nil {
			return err
		}
		a.State, a.KeepState, a.Metrics = nil, false, nil
		l := *answer
		l.State, l.KeepState, l.Metrics = nil, false, nil
		if failed != nil {
			text = "- " + failed.Error() + "\n+ it answers\n"
			return nil
		}
		if !bytes.Equal(abi.AppendResponse(nil, &a), abi.AppendResponse(nil, &l)) {
			text = difference(live, d.Version, &l, &a, veil, own)
		}
		return nil
	})
	switch {
	case diverged != "":
		text = diverged
	case err != nil && failed == nil && ctx.Err() == nil:
		text = "+ " + own.Error(err).Error() + "\n"
	case err != nil || text == "":
		d.Compared(nil)
		return
	}
	d.Compared(&Difference{Time: time.Now(), Controller: c.name, Key: d.key.String(), Live: live.Digest, Shadow: d.Version.Digest, Text: text})
}

// asks answers a perform that only asks for lazy views, which costs nothing and changes nothing.
func (d *double) asks(p *abi.PerformRequest) ([]byte, bool) {
	var out abi.PerformResponse
	for i := range p.Effects {
		e := &p.Effects[i]
		if e.Kind != abi.EffectView || e.Ask == nil {
			return nil, false
		}
		v, err := d.snapshot.Ask(e.Ask)
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

// All gives them, the newest last.
func (d *Differences) All() []Difference {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.last)
}
