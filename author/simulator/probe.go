package simulator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/author/golden"
	"github.com/windlass-dev/windlass/author/guest"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/syncer"
	"github.com/windlass-dev/windlass/host/views"
)

// Elsewhen is a guest that can be called as if the clock of its process showed another time.
type Elsewhen interface {
	SyncElsewhen(request []byte, perform guest.Perform) (answer []byte, stats guest.Stats, err error)
}

// repeatCall makes a call again with the outcomes it had; another answer is shown.
func (c *called) repeatCall(sync func([]byte, guest.Perform) ([]byte, guest.Stats, error)) (diff string) {
	tape := &record.Tape{Recorded: c.performs}
	answer, _, err := sync(c.request, tape.Perform)
	if err == nil && bytes.Equal(answer, c.answer) && tape.Whole() {
		return ""
	}
	m := c.guest.Manifest()
	old, now := describe(m, c.performs, c.answer), describe(m, tape.Made, answer)
	if d := record.Diff(old, now); d != "" {
		return d
	}
	if err != nil && !errors.Is(err, record.ErrStrayed) {
		return err.Error() + "\n"
	}
	return "the same effects in other bytes: in another order, say\n"
}

func describe(m *abi.Manifest, performs []record.Perform, answer []byte) string {
	var out record.Answer
	var a abi.SyncResponse
	if answer != nil && abi.DecodeResponse(answer, &a) == nil {
		out = record.Describe(&a, m)
	}
	for _, p := range performs {
		var in abi.PerformRequest
		if abi.DecodePerform(p.In, &in) == nil {
			out.Performed = append(out.Performed, record.Notes(in.Effects)...)
		}
	}
	return out.YAML()
}

// isSteady reports whether all that makes a call's answer another one is the clock: where time stands still, it is
// always the same other one.
func (c *called) isSteady(other Elsewhen, diff string) bool {
	for range 8 {
		if c.repeatCall(other.SyncElsewhen) != diff {
			return false
		}
	}
	return true
}

// isProbed reports whether the calls of this run are looked at closely.
func (r *run) isProbed() bool {
	return r.scenario.Kind == Undisturbed && !r.scenario.Foreground || r.scenario.Kind == Shuffled &&
		r.scenario.Seed <= 2 && r.scenario.Until == 0
}

// probeCall makes a call again in other circumstances: it has to answer the same.
func (r *run) probeCall(s *slot, c *called) {
	if !r.isProbed() {
		return
	}
	r.calls = append(r.calls, c)
	if r.process.caches == nil {
		return
	}

	if other, ok := s.Guest.(Elsewhen); ok {
		if d := c.repeatCall(other.SyncElsewhen); d != "" {
			if same := c.repeatCall(s.Guest.Sync); same == "" || same != d && c.isSteady(other, d) {
				r.found(Finding{Check: Clock,
					Message: "the same call at another time of the process gives another answer: take the time from Call.Now alone",
					Detail:  d})
			} else {
				r.found(Finding{Check: Determinism,
					Message: "the same call twice gives two answers: it depends on a package variable, on the order of a map, or on chance", Detail: same})
			}
			return
		}
	}

	for range 2 {
		if d := c.repeatCall(s.Guest.Sync); d != "" {
			r.found(Finding{Check: Determinism,
				Message: "the same call twice gives two answers: it depends on a package variable, on the order of a map, or on chance", Detail: d})
			return
		}
	}
	r.sufficient(s, c)
}

// repeatAllCalls makes all calls once more, the last one first: what a sync leaves behind in variables shows.
func (r *run) repeatAllCalls() {
	for _, c := range slices.Backward(r.calls) {
		if d := c.repeatCall(c.guest.Sync); d != "" {
			r.found(Finding{
				Check: HiddenState, At: "sync " + c.slot + " " + c.key.String(),
				Message: "the same call after others gives another answer: a package variable is read that an earlier sync has set; in the sandbox each sync starts afresh",
				Detail:  fmt.Sprintf("step %d, then and again at the end:\n%s", c.step, d),
			})
			return
		}
	}
}

// sufficient compares the answer with that on whole objects, and names the fields that make a difference.
func (r *run) sufficient(s *slot, c *called) {
	declared := s.manifest()
	whole, err := golden.Unprojected(*declared)
	if err != nil {
		return // of resources that aren't built in without a form
	}

	read, err := golden.Masks(declared)
	if err != nil {
		return
	}

	run := func(vs []abi.View) (string, error) { return r.process.answers(s, c, vs, read) }
	want, err := run(declared.Views)
	if err != nil {
		return
	}

	got, err := run(whole.Views)
	if err == nil && got == want {
		return
	}
	if err != nil {
		got = err.Error()
	}

	missing, err := golden.Missing(declared, func(vs []abi.View) bool {
		now, err := run(vs)
		return err == nil && now == got
	})
	if err != nil || len(missing) == 0 {
		missing = []string{"(no single field: see what it reads)"}
	}
	r.found(Finding{Check: Fields,
		Message: "it reads fields that it doesn't declare, and would decide otherwise if it saw them: declare " +
			strings.Join(missing, "; "), Detail: record.Diff(want+"\n", got+"\n")})
}

// answers makes a call again on other views of the same resources, and returns what comes of it. Lazy views are
// delivered anew, all else that it performs is answered as it was.
func (p *process) answers(s *slot, c *called, vs []abi.View, read map[string]*schema.Mask) (string, error) {
	k := *s.manifest()
	k.Views = vs
	plan, err := views.Compile(&k)
	if err != nil {
		return "", err
	}
	var was abi.SyncRequest
	if err := abi.DecodeRequest(c.request, &was); err != nil {
		return "", err
	}
	states := &syncer.States{}
	states.Set(c.key, syncer.State{Blob: was.State})
	again := &syncer.Syncer{World: p.caches, States: states}
	target := &syncer.Target{
		Plugin: s.Guest.Manifest().Name, Settings: was.Settings, Manifest: &k, Index: s.Index, Plan: plan,
		Module: guest.Sandboxed{Guest: s.Guest},
	}
	ctx := p.run.ctx
	if err := again.Prepare(ctx, target, &syncer.Turn{Key: c.key, Now: time.Unix(0, was.Now),
		Attempt: was.Attempt, Timer: time.Duration(was.Timer)}); err != nil {
		return "", err
	}

	n := 0
	var notes []golden.Note
	answer, _, err := again.Call(ctx, func(_ context.Context, _ []byte, p *abi.PerformRequest) ([]byte, error) {
		more, err := golden.Notes(p.Effects, read)
		if err != nil {
			return nil, err
		}
		notes = append(notes, more...)
		if n++; n > len(c.performs) {
			return nil, record.ErrStrayed
		}
		out := &abi.PerformResponse{}
		if err := abi.DecodePerformed(c.performs[n-1].Out, out); err != nil {
			return nil, err
		}
		if len(out.Outcomes) != len(p.Effects) {
			return nil, record.ErrStrayed
		}
		for i := range p.Effects {
			if e := &p.Effects[i]; e.Kind == abi.EffectView {
				v, err := again.Snapshot().Ask(e.Ask)
				if err != nil {
					return nil, err
				}
				out.Outcomes[i].View = &v
			}
		}
		return abi.AppendPerformed(nil, out), nil
	})
	if err != nil {
		return "", err
	}
	more, err := golden.Notes(answer.Effects, read)
	if err != nil {
		return "", err
	}
	return marshalText([]any{notes, more, answer.RequeueAfter, answer.Error, answer.State}), nil
}

// notInReads is what the SDK says of a view that the controller doesn't declare.
const notInReads = " isn't in Reads: "

// reportBroken reports a sync without a proper answer.
func (r *run) reportBroken(s *slot, c *called, err error) {
	if !s.Tested {
		return
	}
	if c.refusal != nil {
		err = c.refusal
	}
	if effects.Refused(err) && strings.Contains(err.Error(), "no precondition") {
		r.found(Finding{Check: Precondition, Message: oneLine(err.Error()) +
			": an object that was made anew under that name would be meant, too; name one that a view has shown"})
		return
	}
	if effects.Refused(err) || strings.Contains(err.Error(), "doesn't declare") {
		r.found(Finding{Check: Undeclared, Message: oneLine(err.Error()) + declareHint(err)})
		return
	}
	r.found(Finding{Check: Panics, Message: "the sync ends without an answer: " + oneLine(err.Error()),
		Detail: err.Error()})
}

// declareHint says what to declare.
func declareHint(err error) string {
	var refused *effects.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(refused.Err.Error(), "not") {
		return ""
	}
	return fmt.Sprintf(" (declare the verb %s of %s in the controller's Writes)", refused.Verb, refused.Resource)
}

// checkEffects looks at effects before they are done.
func (r *run) checkEffects(s *slot, key abi.KeyRef, all []abi.Effect) {
	if !s.Tested {
		return
	}
	for i := range all {
		e := &all[i]
		r.checkEffects(s, key, e.Members)
		switch e.Kind {
		case abi.EffectDelete, abi.EffectEvict:
			if e.Precondition == abi.PreconditionNone {
				r.found(Finding{Check: Precondition,
					Message: fmt.Sprintf("%s %s/%s is deleted unconditionally: an object that was made anew under that name would go too; leave out sdk.Unconditional", e.Resource, e.Namespace, e.Name)})
			}
		case abi.EffectUpdate:
			if e.Precondition == abi.PreconditionNone && e.Subresource != "scale" {
				r.found(Finding{Check: Precondition,
					Message: fmt.Sprintf("%s %s/%s is updated unconditionally: a change that somebody made meanwhile would be undone; leave out sdk.Unconditional", e.Resource, e.Namespace, e.Name)})
			}
		case abi.EffectCreate:
			r.forTerminating(e)
		}
	}
}

// forTerminating looks for objects that are made for an owner that the snapshot shows as being deleted.
func (r *run) forTerminating(e *abi.Effect) {
	var made metav1.PartialObjectMetadata
	if made.Unmarshal(e.Object) != nil {
		return
	}
	owner := metav1.GetControllerOf(&made)
	if owner == nil {
		return
	}
	for _, st := range r.process.caches.stores {
		for _, o := range st.objects {
			if o.UID != owner.UID {
				continue
			}
			var m metav1.PartialObjectMetadata
			if m.Unmarshal(o.Raw) == nil && m.DeletionTimestamp != nil {
				r.found(Finding{Check: Terminating,
					Message: fmt.Sprintf("%s %s/%s%s is created for %s %s, which is being deleted: return early where metadata.deletionTimestamp is set", e.Resource, e.Namespace, made.Name, made.GenerateName, owner.Kind, owner.Name)})
			}
		}
	}
}
