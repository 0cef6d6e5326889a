package golden

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
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
	// Do is such as "create v1/pods default/web-1", or "perform create ..." in the middle of the sync.
	Do      string   `json:"do"`
	Failed  string   `json:"failed,omitempty"`  // why, by one of the case's failures
	Skipped bool     `json:"skipped,omitempty"` // an effect of the answer before it had failed
	With    []string `json:"with,omitempty"`    // preconditions, tolerated failures and the like, where not the default
	// Event is an event's type, reason and message, as "Normal Created: a text".
	Event string `json:"event,omitempty"`
	// Change is what an update has otherwise than the copy that the sync saw, and what a created object has otherwise
	// than what it is like.
	record.Change `json:",inline"`
	// Version is that of the copy which an update is made of, where it isn't the cache's.
	Version string `json:"version,omitempty"`
	// Like is what a created object is made of, such as "apps/v1/replicasets default/web spec.template".
	Like    string `json:"like,omitempty"`
	Object  any    `json:"object,omitempty"` // what else is sent
	Members []Note `json:"members,omitempty"`

	former
}

var kinds = map[abi.EffectKind]string{
	abi.EffectCreate: "create", abi.EffectUpdate: "update", abi.EffectPatch: "patch", abi.EffectApply: "apply",
	abi.EffectDelete: "delete", abi.EffectEvict: "evict",
	abi.EffectDeleteCollection: "deletecollection", abi.EffectEvent: "event", abi.EffectGet: "get", abi.EffectList: "list",
	abi.EffectReview: "review", abi.EffectSign: "sign",
	abi.EffectView: "view", abi.EffectGroup: "group", abi.EffectWake: "wake", abi.EffectDiscover: "discover",
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
		n.Event = fmt.Sprintf("%s %s: %s", e.Event.Type, e.Event.Reason, e.Event.Message)
		n.whole = map[string]string{"type": e.Event.Type, "reason": e.Event.Reason, "message": e.Event.Message}
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
		return n, h.describeObject(&n, e, res)
	}
	return n, nil
}

// describeObject notes what an effect does to its object.
func (h *host) describeObject(n *Note, e *abi.Effect, res *schema.Resource) error {
	object, err := h.declared(e, res, e.Object)
	if err != nil {
		return fmt.Errorf("the plugin sent a %s that can't be read: %w", res.Kind, err)
	}
	n.Object, n.whole = object, object

	switch e.Kind {
	case abi.EffectUpdate:
		return h.describeUpdate(n, e, res, object)
	case abi.EffectCreate:
		return h.describeLikeness(n, object)
	}
	return nil
}

// describeUpdate notes what an update changes in the copy that the sync saw, and that copy's version where the cache
// has another one.
func (h *host) describeUpdate(n *Note, e *abi.Effect, res *schema.Resource, object map[string]any) error {
	seen := h.seenCopy(e)
	if seen == nil {
		return nil
	}
	was, err := h.declared(e, res, seen.Raw)
	if err != nil {
		return err
	}
	n.Change, n.Object = record.ChangeOf(was, object), nil

	if !slices.Contains(h.cached, seen) {
		n.Version = e.Version
	}
	return nil
}

// declared returns an object as people read it, of an update what the controller declares: an update is a difference
// in that, and what else an object held that was seen whole isn't part of it, but for what was signed for it.
func (h *host) declared(e *abi.Effect, res *schema.Resource, raw []byte) (_ map[string]any, err error) {
	mask := h.read[e.Resource]
	if mask == nil || e.Kind != abi.EffectUpdate {
		return record.Readable(res, raw)
	}
	seen, err := mask.Project(nil, raw)
	if err != nil {
		return nil, err
	}
	object, err := record.Readable(res, seen)
	if err != nil || !bytes.Contains(raw, signature) {
		return object, err
	}
	whole, err := record.Readable(res, raw)
	copySignatures(object, whole)
	return object, err
}

// copySignatures copies what was signed from one object to another.
func copySignatures(to, from map[string]any) {
	for name, value := range from {
		switch value := value.(type) {
		case map[string]any:
			below, ok := to[name].(map[string]any)
			if below == nil {
				below = map[string]any{}
			}
			if copySignatures(below, value); ok || len(below) > 0 {
				to[name] = below
			}
		case string:
			if value == string(signature) || value == base64.StdEncoding.EncodeToString(signature) {
				to[name] = value
			}
		}
	}
}

// seenCopy returns the copy of an object that an update is made of, nil where the sync has seen none.
func (h *host) seenCopy(e *abi.Effect) *cache.Object {
	lists := [][]*cache.Object{h.answered, h.live, h.cached}
	if e.Version == "" {
		lists = lists[2:]
	}
	for _, list := range lists {
		for _, o := range slices.Backward(list) {
			if o.Resource.Resource.String() == e.Resource && o.Namespace == e.Namespace && o.Name == e.Name &&
				(e.Version == "" || o.ResourceVersion == e.Version) {
				return o
			}
		}
	}
	return nil
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
func (h *host) outputText() (string, error) { return record.YAML(h.out) }

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

// takeAnswer takes down the answer; labels are those of the plugin's metrics that are in objects.
func (h *host) takeAnswer(a *abi.SyncResponse, metrics []abi.Metric, labels *views.Labels) error {
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
		x := metrics[u.Metric]
		text := x.Name
		objects, ok := labels.Of(h.snapshot, u.Metric, u.Row)
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
