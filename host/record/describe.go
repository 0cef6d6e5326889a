package record

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	wholejson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// Note is an effect as people read it.
type Note struct {
	Do   string   `json:"do"` // such as "create v1/pods default/web-1"
	With []string `json:"with,omitempty"`
	// Change is what an update has otherwise than the copy that the sync saw, where that is known.
	Change  `json:",inline"`
	Object  any    `json:"object,omitempty"`
	Members []Note `json:"members,omitempty"`
}

// Answer is an answer as people read it.
type Answer struct {
	Performed    []Note   `json:"performed,omitempty"` // in the middle of the sync
	Effects      []Note   `json:"effects,omitempty"`
	RequeueAfter string   `json:"requeueAfter,omitempty"`
	Error        string   `json:"error,omitempty"`
	State        string   `json:"state,omitempty"` // empty where it stays; quoted, or its digest where it is long
	Metrics      []string `json:"metrics,omitempty"`
	Failed       string   `json:"failed,omitempty"` // why there is no answer
}

// stateMax is how many bytes of state are shown.
const stateMax = 200

// Describe makes an answer readable. Metrics are those of the manifest.
func Describe(a *abi.SyncResponse, m *abi.Manifest) Answer {
	out := Answer{Effects: Notes(a.Effects), Error: a.Error}
	if a.RequeueAfter != 0 {
		out.RequeueAfter = time.Duration(a.RequeueAfter).String()
	}

	switch {
	case a.KeepState: // the SDK's default
	case len(a.State) == 0:
		out.State = "dropped"
	default:
		out.State = stateText(a.State)
	}

	for _, u := range a.Metrics {
		name := fmt.Sprintf("metric %d", u.Metric)
		if u.Metric >= 0 && int(u.Metric) < len(m.Metrics) {
			name = m.Metrics[u.Metric].Name
		}
		value := strconv.FormatFloat(u.Value, 'g', -1, 64)
		switch {
		case math.IsNaN(u.Value) && u.From != 0:
			value = fmt.Sprintf("the seconds of performs from %d to before %d", u.From, u.To)
		case math.IsNaN(u.Value):
			value = "the sync's seconds"
		}
		out.Metrics = append(out.Metrics, strings.TrimSpace(fmt.Sprintf("%s %v %s = %s", name, u.Labels, u.Namespace, value)))
	}
	return out
}

// stateText is a state as it is shown, empty where there is none.
func stateText(state []byte) string {
	switch {
	case len(state) == 0:
		return ""
	case len(state) > stateMax:
		return fmt.Sprintf("%d bytes, %s", len(state), DigestOf(state))
	}
	return strconv.Quote(string(state))
}

// YAML is the answer in lines.
func (a Answer) YAML() string {
	b, err := yaml.Marshal(a)
	if err != nil {
		return err.Error()
	}
	if string(b) == "{}\n" {
		return "nothing to do\n"
	}
	return string(b)
}

// Notes makes effects readable.
func Notes(effects []abi.Effect) (out []Note) {
	for i := range effects {
		out = append(out, describeEffect(&effects[i]))
	}
	return out
}

var kinds = map[abi.EffectKind]string{
	abi.EffectCreate: "create", abi.EffectUpdate: "update", abi.EffectPatch: "patch", abi.EffectApply: "apply",
	abi.EffectDelete: "delete", abi.EffectEvict: "evict",
	abi.EffectDeleteCollection: "delete all of", abi.EffectEvent: "event on", abi.EffectGet: "get", abi.EffectList: "list",
	abi.EffectReview: "review", abi.EffectView: "view",
	abi.EffectWake: "wake", abi.EffectDiscover: "discover", abi.EffectRead: "read", abi.EffectPublish: "publish",
	abi.EffectFacts: "facts of", abi.EffectZone: "zone", abi.EffectSign: "sign",
}

var modes = map[abi.GroupMode]string{abi.Sequence: "one after the other", abi.SlowStart: "1, 2, 4, … at once",
	abi.Parallel: "at once", abi.Independent: "each by itself"}

func describeEffect(e *abi.Effect) Note {
	kind := kinds[e.Kind]
	if kind == "" {
		kind = fmt.Sprintf("effect of unknown kind %d on", e.Kind)
	}

	n := Note{With: options(e), Members: Notes(e.Members)}
	words := []string{kind}
	switch {
	case e.Kind == abi.EffectGroup:
		words = []string{modes[e.Mode]}
	case e.Kind == abi.EffectView && e.Ask != nil:
		words = append(words, describeAsk(e.Ask))
	case e.Kind == abi.EffectWake && e.Wake != nil:
		words = append(words, fmt.Sprintf("controller %d: %s", e.Wake.Controller, e.Wake.Key.String()))
	case e.Kind == abi.EffectDiscover && e.Discover != nil:
		words = append(words, e.Discover.APIVersion, e.Discover.Kind)
	case e.Kind == abi.EffectRead:
		words = append(words, e.Path)
	case e.Kind == abi.EffectZone && e.Zone != nil:
		words = append(words, DescribeZone(e.Zone))
	default:
		target, name := e.Resource, e.Name
		if e.Subresource != "" {
			target += "/" + e.Subresource
		}
		if e.Namespace != "" {
			name = e.Namespace + "/" + e.Name
		}
		words = append(words, target, name)
	}

	n.Do = strings.Join(strings.Fields(strings.Join(words, " ")), " ")
	if e.Event != nil {
		n.Object = map[string]string{"type": e.Event.Type, "reason": e.Event.Reason, "message": e.Event.Message}
	} else if len(e.Object) > 0 {
		n.Object = decoded(e)
	}
	return n
}

// DescribeZone returns a zone and the moment at which it is asked for, such as "Europe/Rome at 2016-05-25T00:00:00Z".
func DescribeZone(z *abi.Zone) string {
	name := z.Name
	if name == "" {
		name = "UTC"
	}
	return name + " at " + time.Unix(z.At, 0).UTC().Format(time.RFC3339)
}

func describeAsk(a *abi.Ask) string {
	s := fmt.Sprintf("%d of %s", a.View, a.Namespace)
	if a.Resource != "" {
		s += " resource " + a.Resource
	}
	if len(a.Names) > 0 {
		s += fmt.Sprintf(" names %v", a.Names)
	}
	if a.Path != "" {
		s += fmt.Sprintf(" %s in %v", a.Path, a.Values)
	}
	if len(a.Selector) > 0 {
		s += fmt.Sprintf(" selector %q", a.Selector)
	}
	if a.Fresh {
		s += " fresh"
	}
	if a.Shared {
		s += " shared"
	}
	if a.Count {
		s += " count"
	}
	return s
}

func options(e *abi.Effect) (out []string) {
	add := func(when bool, what string) {
		if when {
			out = append(out, what)
		}
	}
	add(e.Precondition == abi.PreconditionVersion || e.Version != "", "resourceVersion "+e.Version)
	add(e.UID != "", "uid "+e.UID)
	add(e.Precondition == abi.PreconditionNone, "unconditional")
	for _, t := range []struct {
		bit  abi.Tolerance
		name string
	}{{abi.TolerateNotFound, "NotFound"}, {abi.TolerateAlreadyExists, "AlreadyExists"}, {abi.TolerateConflict, "Conflict"},
		{abi.TolerateInvalid, "Invalid"}, {abi.TolerateNamespaceTerminating, "NamespaceTerminating"}} {
		add(e.Tolerate&t.bit != 0, t.name+" is fine")
	}
	add(e.Patch != 0, map[abi.PatchType]string{abi.JSONPatch: "JSON patch", abi.MergePatch: "merge patch",
		abi.StrategicPatch: "strategic merge patch"}[e.Patch])
	add(e.Propagation != 0, map[abi.Propagation]string{abi.PropagationBackground: "background",
		abi.PropagationForeground: "foreground", abi.PropagationOrphan: "orphan"}[e.Propagation])
	add(e.HasGrace, "grace "+strconv.FormatInt(e.Grace, 10)+" s")
	add(e.Metadata, "metadata")
	add(e.DryRun, "dry run")
	add(e.Always, "always")
	return out
}

// decoded decodes what an effect sends; what can't be decoded is told by its size and digest.
func decoded(e *abi.Effect) any {
	if e.Object[0] == '{' || e.Object[0] == '[' {
		var v any
		if json.Unmarshal(e.Object, &v) == nil {
			return v
		}
	}
	if e.Subresource == "scale" {
		var scale autoscalingv1.Scale
		if scale.Unmarshal(e.Object) == nil {
			if v, err := shownFields(&scale); err == nil {
				return v
			}
		}
	} else if id, ok := abi.ParseResource(e.Resource); ok {
		if res, err := schema.Named(id); err == nil {
			if v, err := Readable(res, e.Object); err == nil {
				return v
			}
		}
	}
	return fmt.Sprintf("%d bytes, %s", len(e.Object), DigestOf(e.Object))
}

// Readable decodes an object as guests have it into what people read of it: nothing that is empty, and no apiVersion
// and kind, which stand beside it.
func Readable(res *schema.Resource, raw []byte) (map[string]any, error) {
	if !res.Custom {
		o := res.New()
		if err := o.(interface{ Unmarshal([]byte) error }).Unmarshal(raw); err != nil {
			return nil, err
		}
		return shownFields(o)
	}
	b, err := res.JSON(raw)
	if err != nil {
		return nil, err
	}
	var v map[string]any
	if err := wholejson.Unmarshal(b, &v); err != nil {
		return nil, err
	}
	delete(v, "apiVersion")
	delete(v, "kind")
	pruneEmpty(v)
	return v, nil
}

func shownFields(o runtime.Object) (map[string]any, error) {
	v, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	pruneEmpty(v)
	return v, err
}

// pruneEmpty takes out what is empty, which a typed object shows and a guest doesn't send.
func pruneEmpty(m map[string]any) {
	for k, v := range m {
		switch v := v.(type) {
		case nil:
			delete(m, k)
		case map[string]any:
			if pruneEmpty(v); len(v) == 0 && (k == "status" || k == "resources" || k == "strategy" || k == "metadata" ||
				k == "updateStrategy") {
				delete(m, k)
			}
		case []any:
			for _, x := range v {
				if x, ok := x.(map[string]any); ok {
					pruneEmpty(x)
				}
			}
		}
	}
}
