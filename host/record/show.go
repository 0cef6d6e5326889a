package record

import (
	"fmt"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// Shown is a sync as people read it.
type Shown struct {
	Controller string    `json:"controller"`
	Key        string    `json:"key"`
	Time       time.Time `json:"time"`
	Took       string    `json:"took"`
	Attempt    int32     `json:"attempt,omitempty"` // failures in a row before it
	Timer      string    `json:"timer,omitempty"`   // how long it was until the key's timer went off, if it had one
	Result     string    `json:"result"`
	Error      string    `json:"error,omitempty"`
	Plugin     string    `json:"plugin"`
	Digest     string    `json:"digest"`
	// Redacted tells that values were wiped, Missing why there is nothing of the call.
	Redacted  bool             `json:"redacted,omitempty"`
	Missing   string           `json:"missing,omitempty"`
	Settings  []Setting        `json:"settings,omitempty"`
	State     string           `json:"state,omitempty"`
	Snapshot  []ShownView      `json:"snapshot,omitempty"`
	Performed []ShownPerformed `json:"performed,omitempty"`
	Answer    *Answer          `json:"answer,omitempty"`
	Wrote     []string         `json:"wrote,omitempty"` // what the API server took of it, and events: see Sync
}

// ShownView is a view of a snapshot as people read it.
type ShownView struct {
	View     string `json:"view"`
	Resource string `json:"resource"`
	Count    int64  `json:"count,omitempty"`
	// Guarded tells that the view wasn't looked at, because its guard didn't hold.
	Guarded bool `json:"guarded,omitempty"`
	// Unlisted are the resources whose objects the view may lack, because they couldn't be listed.
	Unlisted []string `json:"unlisted,omitempty"`
	Objects  []any    `json:"objects,omitempty"`
}

// ShownPerformed is an effect that was performed in the middle of a sync, with its outcome.
type ShownPerformed struct {
	Note    `json:",inline"`
	Outcome string `json:"outcome"` // ok, skipped, or why it failed
	Got     any    `json:"got,omitempty"`
}

// Show makes a sync of a recording readable.
func Show(f *File, s *Sync) (*Shown, error) {
	source := &f.Sources[s.Source]
	x := &Shown{
		Controller: f.Controller, Key: s.Key.String(), Time: s.Start, Took: s.Took.String(), Result: s.Result, Error: s.Error,
		Plugin: source.Plugin + " " + source.Version, Digest: source.Digest, Redacted: s.Redacted, Settings: source.Settings,
		Wrote: s.Wrote,
	}
	if s.Request == nil {
		x.Missing = "the plugin wasn't called"
		if s.Cut {
			x.Missing = fmt.Sprintf("its %d bytes were more than the recorder keeps: raise recordings.bytes", s.Bytes)
		}
		return x, nil
	}

	var r abi.SyncRequest
	if err := abi.DecodeRequest(s.Request, &r); err != nil {
		return nil, err
	}
	if r.Controller < 0 || int(r.Controller) >= len(source.Manifest.Controllers) {
		return nil, fmt.Errorf("the plugin %s has no controller %d", source.Plugin, r.Controller)
	}
	shows := shower{views: source.Manifest.Controllers[r.Controller].Views}
	x.Attempt, x.State = r.Attempt, stateText(r.State)
	if r.Timer != 0 {
		x.Timer = time.Duration(r.Timer).String()
	}
	for i := range r.Views {
		x.Snapshot = append(x.Snapshot, shows.view(&r.Views[i]))
	}
	for _, p := range s.Performs {
		all, err := shows.performed(&p)
		if err != nil {
			return nil, err
		}
		x.Performed = append(x.Performed, all...)
	}
	if s.Answered {
		var a abi.SyncResponse
		if err := abi.DecodeResponse(s.Answer, &a); err != nil {
			return nil, err
		}
		answer := Describe(&a, source.Manifest)
		answer.Effects = shows.notes(a.Effects)
		x.Answer = &answer
	}
	return x, nil
}

// shower shows a sync, and keeps the copies of objects that the sync was shown.
type shower struct {
	views  []abi.View
	copies []shownCopy
}

type shownCopy struct {
	resource, version string
	fields            map[string]any
}

// notes are of effects, updates by what they change.
func (s *shower) notes(effects []abi.Effect) (all []Note) {
	for i := range effects {
		all = append(all, s.note(&effects[i]))
	}
	return all
}

func (s *shower) note(e *abi.Effect) Note {
	n := describeEffect(e)
	n.Members = s.notes(e.Members)
	object, ok := n.Object.(map[string]any)
	if e.Kind != abi.EffectUpdate || !ok {
		return n
	}
	for _, c := range slices.Backward(s.copies) {
		if c.resource == e.Resource && sameName(c.fields, object) && (e.Version == "" || c.version == e.Version) {
			n.Change, n.Object = ChangeOf(c.fields, object), nil
			break
		}
	}
	return n
}

func sameName(a, b map[string]any) bool {
	x, _ := a["metadata"].(map[string]any)
	y, _ := b["metadata"].(map[string]any)
	return x["name"] == y["name"] && x["namespace"] == y["namespace"]
}

// object shows an object of a resource, and keeps it as one that the sync has seen.
func (s *shower) object(of abi.Resource, o *abi.ObjectData) any {
	shown := shownObject(of, o)
	if fields, ok := shown.(map[string]any); ok && o.Resource == "" {
		s.copies = append(s.copies, shownCopy{of.String(), o.ResourceVersion, fields})
	}
	return shown
}

func (s *shower) view(v *abi.ViewData) ShownView {
	views := s.views
	x := ShownView{View: fmt.Sprint(v.View), Count: v.Count, Guarded: v.Guarded, Unlisted: v.Unlisted}
	var of abi.Resource
	if v.View >= 0 && int(v.View) < len(views) {
		of = views[v.View].Resource
		x.View, x.Resource = views[v.View].Name, of.String()
	}
	for i := range v.Objects {
		x.Objects = append(x.Objects, s.object(of, &v.Objects[i]))
	}
	return x
}

// shownObject decodes an object; what can't be decoded is told by its size and digest.
func shownObject(of abi.Resource, o *abi.ObjectData) any {
	res, err := schema.Named(of)
	if o.Resource != "" { // of a view over all resources: nothing but metadata
		if of, ok := abi.ParseResource(o.Resource); ok {
			res, err = schema.Partial(of, o.Kind, true), nil
		}
	}
	if err == nil {
		fields, err := Readable(res, o.Data)
		if err == nil {
			if o.Kind != "" {
				fields["kind"] = o.Kind
			}
			return fields
		}
	}
	return fmt.Sprintf("%d bytes, %s", len(o.Data), DigestOf(o.Data))
}

func (s *shower) performed(p *Perform) (all []ShownPerformed, err error) {
	var in abi.PerformRequest
	if err := abi.DecodePerform(p.In, &in); err != nil {
		return nil, err
	}
	var out abi.PerformResponse
	if p.Refused == "" {
		if err := abi.DecodePerformed(p.Out, &out); err != nil {
			return nil, err
		}
	}
	for i := range in.Effects {
		if p.Refused != "" || i >= len(out.Outcomes) {
			all = append(all, ShownPerformed{Note: s.note(&in.Effects[i]), Outcome: "refused: " + p.Refused})
			continue
		}
		all = append(all, s.outcome(&in.Effects[i], &out.Outcomes[i])...)
	}
	return all, nil
}

// outcome shows an effect, or each member of a group.
func (s *shower) outcome(e *abi.Effect, o *abi.Outcome) (all []ShownPerformed) {
	if e.Kind == abi.EffectGroup && len(o.Members) == len(e.Members) {
		for i := range e.Members {
			all = append(all, s.outcome(&e.Members[i], &o.Members[i])...)
		}
		return all
	}

	x := ShownPerformed{Note: s.note(e), Outcome: "ok"}
	switch {
	case o.Code == abi.CodeSkipped:
		x.Outcome = "skipped"
	case o.Reason != "" || o.Code != abi.CodeOK:
		x.Outcome = o.Reason + ": " + o.Message
	case o.View != nil:
		x.Got = s.view(o.View)
	case o.Discovery != nil:
		x.Got = fmt.Sprintf("%d resources, %d failures", len(o.Discovery.Resources), len(o.Discovery.Failures))
	case len(o.Facts) > 0:
		facts := map[string]string{}
		for _, f := range o.Facts {
			facts[f.Key.String()] = string(f.Data)
		}
		x.Got = facts
	case o.Zone != nil:
		x.Got = fmt.Sprintf("%+d s", o.Zone.Offset)
	case e.Kind == abi.EffectRead:
		x.Got = string(o.Object.Data)
	case len(o.Object.Data) > 0:
		of, _ := abi.ParseResource(e.Resource)
		x.Got = s.object(of, &o.Object)
	}
	return []ShownPerformed{x}
}
