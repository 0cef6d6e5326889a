package golden

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/views"
)

// Output is what a sync did.
type Output struct {
	Effects      []Note   `json:"effects,omitempty"`
	RequeueAfter string   `json:"requeueAfter,omitempty"`
	Error        string   `json:"error,omitempty"`
	State        string   `json:"state,omitempty"`
	Metrics      []string `json:"metrics,omitempty"`
}

// Note is one effect as a person reads it.
type Note struct {
	Do        string   `json:"do"` // such as "create v1/pods default/web-1"
	Performed bool     `json:"performed,omitempty"`
	Failed    string   `json:"failed,omitempty"`  // why, by one of the case's failures
	Skipped   bool     `json:"skipped,omitempty"` // an effect of the answer before it had failed
	With      []string `json:"with,omitempty"`    // preconditions, tolerated failures and the like, where not the default
	Object    any      `json:"object,omitempty"`
	Members   []Note   `json:"members,omitempty"`
}

var kinds = map[abi.EffectKind]string{
	abi.EffectCreate: "create", abi.EffectUpdate: "update", abi.EffectPatch: "patch", abi.EffectApply: "apply",
	abi.EffectDelete: "delete", abi.EffectEvict: "evict",
	abi.EffectDeleteCollection: "deletecollection", abi.EffectEvent: "event", abi.EffectGet: "get", abi.EffectList: "list",
	abi.EffectReview: "review",
	abi.EffectView:   "view", abi.EffectGroup: "group", abi.EffectWake: "wake", abi.EffectDiscover: "discover",
}

var modes = map[abi.GroupMode]string{abi.Sequence: "sequence", abi.SlowStart: "slow start", abi.Parallel: "parallel",
	abi.Independent: "independent"}

// Notes makes effects readable, updates without what the controller, whose masks read are, doesn't declare.
func Notes(effects []abi.Effect, read map[string]*schema.Mask) (notes []Note, err error) {
	h := host{read: read}
	for i := range effects {
		n, err := h.describe(&effects[i])
		if err != nil {
			return nil, err
		}
		notes = append(notes, n)
	}
	return notes, nil
}

func (h *host) describe(e *abi.Effect) (Note, error) {
	if n, ok := describeAsked(e); ok {
		return n, nil
	}
	kind, ok := kinds[e.Kind]
	if !ok {
		return Note{}, fmt.Errorf("effect of unknown kind %d", e.Kind)
	}

	if e.Kind == abi.EffectGroup {
		n := Note{Do: modes[e.Mode]}
		for i := range e.Members {
			m, err := h.describe(&e.Members[i])
			if err != nil {
				return n, err
			}
			n.Members = append(n.Members, m)
		}
		return n, nil
	}
	if e.Kind == abi.EffectDiscover {
		return Note{Do: strings.TrimSpace(kind + " " + e.Discover.APIVersion + " " + e.Discover.Kind)}, nil
	}

	name := e.Name
	if e.Namespace != "" {
		name = e.Namespace + "/" + e.Name
	}
	if e.Kind == abi.EffectList || e.Kind == abi.EffectDeleteCollection {
		name = e.Namespace
	}

	target := e.Resource
	if e.Subresource != "" {
		target += "/" + e.Subresource
	}

	if e.Kind != abi.EffectReview { // which is of no object
		target += " " + name
	}
	n := Note{Do: kind + " " + target, With: options(e)}
	switch {
	case e.Kind == abi.EffectEvent:
		n.Object = map[string]string{"type": e.Event.Type, "reason": e.Event.Reason, "message": e.Event.Message}
	case e.Kind == abi.EffectPatch:
		n.Object = json.RawMessage(e.Object)
	case e.Subresource == "scale" && len(e.Object) > 0:
		s, err := scaleOf(e)
		if err != nil {
			return n, err
		}
		n.Object = map[string]any{"resourceVersion": e.Version, "replicas": s.Spec.Replicas}
	case len(e.Object) > 0:
		res, err := h.schemaOf(e)
		if err != nil {
			return n, err
		}
		raw := e.Object
		if mask := h.read[e.Resource]; mask != nil && e.Kind == abi.EffectUpdate {
			// An update is a difference in what was declared; what else an object held that was seen whole isn't part of it.
			if raw, err = mask.Project(nil, raw); err != nil {
				return n, err
			}
		}
		u, err := record.Readable(res, raw)
		if err != nil {
			return n, fmt.Errorf("the plugin sent a %s that can't be read: %w", res.Kind, err)
		}
		n.Object = u
	}
	return n, nil
}

func options(e *abi.Effect) (out []string) {
	if e.Kind == abi.EffectCreate || e.Kind == abi.EffectEvent || e.Kind == abi.EffectGet {
		e = &abi.Effect{Tolerate: e.Tolerate, DryRun: e.DryRun, Always: e.Always}
	}
	switch e.Precondition {
	case abi.PreconditionVersion:
		out = append(out, "resourceVersion "+e.Version)
	case abi.PreconditionUID:
		out = append(out, "uid "+e.UID)
	case abi.PreconditionNone:
		if e.Kind != abi.EffectPatch {
			out = append(out, "unconditional")
		}
	}

	for _, t := range []struct {
		bit  abi.Tolerance
		name string
	}{{abi.TolerateNotFound, "NotFound"}, {abi.TolerateAlreadyExists, "AlreadyExists"}, {abi.TolerateConflict, "Conflict"},
		{abi.TolerateInvalid, "Invalid"}, {abi.TolerateNamespaceTerminating, "NamespaceTerminating"}} {
		if e.Tolerate&t.bit != 0 {
			out = append(out, t.name+" is fine")
		}
	}

	if e.Patch != 0 {
		out = append(out, map[abi.PatchType]string{abi.JSONPatch: "JSON patch", abi.MergePatch: "merge patch",
			abi.StrategicPatch: "strategic merge patch"}[e.Patch])
	}

	if e.Propagation != 0 {
		out = append(out, map[abi.Propagation]string{abi.PropagationBackground: "background",
			abi.PropagationForeground: "foreground", abi.PropagationOrphan: "orphan"}[e.Propagation])
	}

	if e.HasGrace {
		out = append(out, "grace "+strconv.FormatInt(e.Grace, 10)+" s")
	}
	if e.Metadata && e.Kind != abi.EffectDelete {
		out = append(out, "metadata")
	}

	if e.DryRun {
		out = append(out, "dry run")
	}
	if e.Always {
		out = append(out, "always")
	}
	return out
}

func decodeTyped(res *schema.Resource, raw []byte) (runtime.Object, error) {
	if res.Custom {
		j, err := res.JSON(raw)
		if err != nil {
			return nil, fmt.Errorf("the plugin sent a %s that can't be read: %w", res.Kind, err)
		}
		return unstructuredOf(j)
	}
	o := res.New()
	if err := o.(interface{ Unmarshal([]byte) error }).Unmarshal(raw); err != nil {
		return nil, fmt.Errorf("the plugin sent a %s that can't be read: %w", res.Kind, err)
	}
	return o, nil
}

func accessor(o runtime.Object) metav1.Object {
	m, err := meta.Accessor(o)
	if err != nil {
		panic(err) // all objects have metadata
	}
	return m
}

func uid(n int) types.UID { return types.UID(strconv.Itoa(n)) }

// Masks are, by resource, what a controller declares to read; the cache keeps more, which conditions are about.
func Masks(c *abi.Controller) (map[string]*schema.Mask, error) {
	fields := map[abi.Resource][]string{}
	for _, v := range c.Views {
		fields[v.Resource] = append(fields[v.Resource], v.Fields...)
	}
	m := map[string]*schema.Mask{}
	for r, f := range fields {
		res, err := resourceOf(r)
		if err != nil {
			return nil, err
		}
		if m[r.String()], err = res.Message.Mask(append([]string{"metadata.name", "metadata.namespace", "metadata.uid",
			"metadata.resourceVersion"}, f...)...); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// outputText returns what came out, in YAML.
func (h *host) outputText() (string, error) {
	b, err := yaml.Marshal(h.out)

	return string(b), err
}

// attempt does an effect of the answer, of which nothing is to be known but whether it fails: note gets that.
func (h *host) attempt(e *abi.Effect, note *Note, failed *bool) (abi.Outcome, error) {
	if *failed && !e.Always {
		note.Skipped = true
		return skipped, nil
	}
	if e.Kind == abi.EffectGroup {
		return h.performGroup(e, failed, func(i int, failed *bool) (abi.Outcome, error) {
			return h.attempt(&e.Members[i], &note.Members[i], failed)
		})
	}

	o, hit := h.failEffect(e)
	if !hit || tolerated(e.Tolerate, o.Reason) {
		return abi.Outcome{}, nil
	}
	note.Failed = o.Reason
	*failed = true

	return o, nil
}

// takeAnswer takes down the answer; labels are those of the manifest's metrics that are in objects.
func (h *host) takeAnswer(a *abi.SyncResponse, m *abi.Manifest, labels *views.Labels) error {
	o := h.out
	failed := false
	for i := range a.Effects {
		n, err := h.describe(&a.Effects[i])
		if err != nil {
			return err
		}
		if _, err := h.attempt(&a.Effects[i], &n, &failed); err != nil {
			return err
		}
		o.Effects = append(o.Effects, n)
	}

	if a.RequeueAfter != 0 {
		o.RequeueAfter = time.Duration(a.RequeueAfter).String()
	}
	o.Error = a.Error
	if !a.KeepState {
		o.State = string(a.State)
	}
	for _, u := range a.Metrics {
		x := m.Metrics[u.Metric]
		text := x.Name
		objects, ok := labels.Of(h.snapshot, u.Metric)
		if !ok {
			return fmt.Errorf("the controller adds to metric %s, whose labels come from a view that the controller doesn't have",
				x.Name)
		}
		for i, l := range u.Labels {
			value := x.Labels[i].From
			switch {
			case x.Labels[i].View != "":
				value, objects = objects[0], objects[1:]
			case value == "":
				value = x.Labels[i].Values[l]
			case value == abi.LabelNamespace:
				value = u.Namespace
			}
			text += fmt.Sprintf(" %s=%s", x.Labels[i].Name, value)
		}
		text = fmt.Sprintf("%s %v", text, u.Value)
		if u.From != 0 {
			text += fmt.Sprintf(" of performs [%d, %d)", u.From, u.To)
		}
		o.Metrics = append(o.Metrics, text)
	}
	return nil
}
