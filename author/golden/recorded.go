package golden

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/schema"
)

// Recorded makes a case of a recorded sync: what it was called with, and what it was told in the middle of it. The case
// doesn't say what the sync should do. left says what of the recording a case has no words for; then it may come out
// otherwise than the sync did.
func Recorded(f *record.File, s *record.Sync) (c *Case, left []string, err error) {
	if s.Request == nil {
		return nil, nil, fmt.Errorf("the recording has no request for the sync of %s: the sync was larger than "+
			"recordings.bytes, or the plugin wasn't called", s.Key.String())
	}
	source := &f.Sources[s.Source]
	var r abi.SyncRequest
	if err := abi.DecodeRequest(s.Request, &r); err != nil {
		return nil, nil, err
	}
	if r.Controller < 0 || int(r.Controller) >= len(source.Manifest.Controllers) {
		return nil, nil, fmt.Errorf("the plugin %s has no controller %d", source.Plugin, r.Controller)
	}

	declared := &source.Manifest.Controllers[r.Controller]
	x := recorded{views: declared.Views, kinds: f.Kinds, seen: map[string]bool{}, c: &Case{
		Name: "recorded-" + s.Start.UTC().Format("20060102-150405"), Key: s.Key.String(), Now: time.Unix(0, r.Now).UTC(),
		Attempt: r.Attempt, State: string(r.State), Timer: metav1.Duration{Duration: time.Duration(r.Timer)},
		Settings: map[string]string{},
	}}
	if len(source.Manifest.Controllers) > 1 {
		x.c.Controller = declared.Name
	}
	for i, v := range source.Settings {
		switch m := source.Manifest.Settings; {
		case v.Digest != "" && v.Digest != record.DigestOf(nil):
			x.leaveOut("the setting %s is a file, and the recording has only the file's digest", v.Name)
		case i < len(m) && v.Value != m[i].Default:
			x.c.Settings[v.Name] = v.Value
		}
	}
	if s.Redacted {
		x.leaveOut("secrets, which are wiped from the recording")
	}

	for i := range r.Views {
		if err := x.addView(&r.Views[i]); err != nil {
			return nil, nil, err
		}
	}
	for _, p := range s.Performs {
		if err := x.performed(&p); err != nil {
			return nil, nil, err
		}
	}

	x.c.Gone = x.c.isBare() && len(x.left) == 0
	return x.c, x.left, nil
}

// recorded is a case that is being made of a recording.
type recorded struct {
	c     *Case
	views []abi.View
	kinds map[string]string // of custom resources, by resource
	seen  map[string]bool   // objects
	left  []string
}

func (x *recorded) leaveOut(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(x.left, text) {
		x.left = append(x.left, text)
	}
}

// addView adds the objects of a view to the case's.
func (x *recorded) addView(v *abi.ViewData) error {
	if v.View < 0 || int(v.View) >= len(x.views) {
		return fmt.Errorf("there is no view %d", v.View)
	}
	if v.Count > int64(len(v.Objects)) {
		x.leaveOut("the view %s counted %d objects, which the sync didn't get", x.views[v.View].Name, v.Count)
	}
	for _, r := range v.Unlisted {
		if !slices.Contains(x.c.Unlisted, r) {
			x.c.Unlisted = append(x.c.Unlisted, r)
		}
	}
	for i := range v.Objects {
		if _, err := x.addObject(&x.c.Objects, x.views[v.View].Resource, &v.Objects[i]); err != nil {
			return err
		}
	}

	return nil
}

// addObject adds an object to a list, unless it is in the case as it is, and returns whether it could.
func (x *recorded) addObject(to *[]runtime.RawExtension, of abi.Resource, o *abi.ObjectData) (added bool, err error) {
	if o.Resource != "" {
		of, _ = abi.ParseResource(o.Resource)
	}
	res, err := schema.Named(of)
	if err != nil {
		return false, err
	}
	kind := cmp.Or(o.Kind, res.Kind, x.kinds[of.String()])
	if kind == "" {
		x.leaveOut("the kind of %s isn't in the recording, so its objects are left out: give each one kind and apiVersion "+
			"by hand (windlass get sync -o yaml shows them)", of.String())
		return false, nil
	}
	if o.Resource != "" { // of a view over all resources: nothing but metadata
		res = schema.Partial(of, kind, true)
	}
	fields, err := record.Readable(res, o.Data)
	if err != nil {
		return false, fmt.Errorf("an object of %s can't be read: %w", of.String(), err)
	}
	fields["apiVersion"], fields["kind"] = strings.TrimSuffix(of.String(), "/"+of.Name), kind
	text, err := json.Marshal(fields)
	if err != nil || x.seen[string(text)] {
		return false, err
	}
	x.seen[string(text)] = true
	*to = append(*to, runtime.RawExtension{Raw: text})

	return true, nil
}

// performed adds what the sync was told in the middle of it.
func (x *recorded) performed(p *record.Perform) error {
	var in abi.PerformRequest
	var out abi.PerformResponse
	if err := abi.DecodePerform(p.In, &in); err != nil {
		return err
	}
	if p.Refused != "" {
		x.leaveOut("the sync ended because something that it performed was refused: %s", p.Refused)
		return nil
	}
	if err := abi.DecodePerformed(p.Out, &out); err != nil {
		return err
	}
	for i := range min(len(in.Effects), len(out.Outcomes)) {
		if err := x.outcome(&in.Effects[i], &out.Outcomes[i]); err != nil {
			return err
		}
	}

	return nil
}

func (x *recorded) outcome(e *abi.Effect, o *abi.Outcome) error {
	switch {
	case e.Kind == abi.EffectGroup:
		for i := range min(len(e.Members), len(o.Members)) {
			if err := x.outcome(&e.Members[i], &o.Members[i]); err != nil {
				return err
			}
		}
	case o.Code == abi.CodeSkipped:
	case e.Kind == abi.EffectView:
		if o.View != nil {
			return x.addView(o.View)
		}
	case e.Kind == abi.EffectRead:
		if x.c.Reads == nil {
			x.c.Reads = map[string]Read{}
		}
		x.c.Reads[e.Path] = Read{Body: o.Object.Data, Reason: o.Reason, Message: o.Message}
	case e.Kind == abi.EffectFacts:
		for _, f := range o.Facts {
			if x.c.Facts == nil {
				x.c.Facts = map[string]string{}
			}
			x.c.Facts[f.Key.String()] = string(f.Data)
		}
	case e.Kind == abi.EffectZone:
		if e.Zone != nil && e.Zone.Name == abi.LocalZone && o.Zone != nil && o.Zone.Offset != 0 {
			x.leaveOut("the time zone of the process, which wasn't UTC")
		}
	case o.Reason != "": // it failed, or would have and that is fine
		x.failure(e, o)
	case e.Kind == abi.EffectDiscover:
		x.discovery(o)
	case e.Subresource == "scale":
		x.leaveOut("a scale was asked for: write it under scales")
	case e.Kind == abi.EffectList:
		x.leaveOut("%s were listed live", e.Resource)
	case e.Kind == abi.EffectGet:
		of, _ := abi.ParseResource(e.Resource)
		_, err := x.addObject(&x.c.Live, of, &o.Object)
		return err
	}

	return nil
}

// failure adds an effect that failed to the case's failures, one after another.
func (x *recorded) failure(e *abi.Effect, o *abi.Outcome) {
	if !slices.Contains(failing, kinds[e.Kind]) {
		x.leaveOut("%s failed: %s", kinds[e.Kind], o.Message)
		return
	}
	x.c.Failures = append(x.c.Failures, Failure{Effect: kinds[e.Kind], Resource: e.Resource, Subresource: e.Subresource,
		Name: e.Name, Times: 1, Reason: o.Reason, Message: o.Message})
}

// discovery takes what the API server serves into the case.
func (x *recorded) discovery(o *abi.Outcome) {
	if o.Discovery == nil {
		return
	}
	if x.c.Discovery == nil {
		x.c.Discovery = &Discovery{}
	}
	for _, r := range o.Discovery.Resources {
		if !slices.ContainsFunc(x.c.Discovery.Resources, func(y APIResource) bool { return y.Resource == r.Resource }) {
			x.c.Discovery.Resources = append(x.c.Discovery.Resources, APIResource(r))
		}
	}
	for _, f := range o.Discovery.Failures {
		x.c.Discovery.Failures = append(x.c.Discovery.Failures, DiscoveryFailure(f))
	}
}
