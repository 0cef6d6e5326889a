package golden

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/zones"
)

// Read is what the GET of a path gives: a body, or a failure.
type Read struct {
	Body    json.RawMessage `json:"body,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	Message string          `json:"message,omitempty"`
}

// Scale is the scale of an object in the key's namespace.
type Scale struct {
	Of       string `json:"of"` // such as apps/v1/deployments web
	Replicas int32  `json:"replicas"`
	// Running is how many there are; without it as many as there should be.
	Running  *int32 `json:"running,omitempty"`
	Selector string `json:"selector,omitempty"`
}

// scale is a scale in the middle of a sync.
type scale struct {
	Scale
	version int
}

// signature is what everything that is signed comes to in a case.
var signature = []byte("(signature)")

// answerRead answers reads, zones and facts, whose terms it does not look at: a case gives the facts that are found. ok
// tells whether the effect is one of them. The zone of the process is UTC.
func (h *host) answerRead(e *abi.Effect) (o abi.Outcome, ok bool) {
	switch e.Kind {
	case abi.EffectRead:
		r, known := h.c.Reads[e.Path]
		h.used.reads[e.Path] = true
		switch {
		case !known:
			return abi.Outcome{Code: abi.CodeFailed, Reason: "NotFound",
				Message: "the server could not find the requested resource"}, true
		case r.Reason != "":
			return abi.Outcome{Code: abi.CodeFailed, Reason: r.Reason, Message: r.Message}, true
		}
		return abi.Outcome{Object: abi.ObjectData{Data: r.Body}}, true

	case abi.EffectZone:
		z := *e.Zone
		if z.Name == abi.LocalZone {
			z.Name = "UTC" // on each machine
		}
		p, err := zones.Find(&z)
		if err != nil {
			return abi.Outcome{Code: abi.CodeFailed, Reason: zones.UnknownTimeZone, Message: err.Error()}, true
		}
		return abi.Outcome{Zone: p}, true

	case abi.EffectSign:
		return abi.Outcome{Object: abi.ObjectData{Data: signature}}, true

	case abi.EffectPublish:
		if h.facts == nil {
			h.facts = map[string][]byte{}
		}
		h.facts[h.c.Key] = e.Object
		return o, true

	case abi.EffectFacts:
		h.used.facts = true
		for key, text := range h.c.Facts {
			if _, published := h.facts[key]; !published && Key(key).Namespace == e.Namespace {
				o.Facts = append(o.Facts, abi.Fact{Key: Key(key), Data: []byte(text)})
			}
		}
		for key, data := range h.facts {
			if Key(key).Namespace == e.Namespace {
				o.Facts = append(o.Facts, abi.Fact{Key: Key(key), Data: data})
			}
		}
		slices.SortFunc(o.Facts, func(a, b abi.Fact) int { return strings.Compare(a.Key.Name, b.Key.Name) })
		return o, true
	}
	return o, false
}

// describeAsked reports a read, a zone, a published fact and the asking for facts.
func describeAsked(e *abi.Effect) (n Note, ok bool) {
	switch e.Kind {
	case abi.EffectRead:
		return Note{Do: "read " + e.Path}, true
	case abi.EffectZone:
		return Note{Do: "zone " + record.DescribeZone(e.Zone)}, true
	case abi.EffectSign:
		return Note{Do: "sign " + e.Resource + " " + e.Name}, true
	case abi.EffectPublish:
		return Note{Do: "publish " + string(e.Object) + describeTerms(e.Terms)}, true
	case abi.EffectFacts:
		return Note{Do: "facts " + e.Namespace + describeTerms(e.Terms)}, true
	}
	return n, false
}

func describeTerms(terms []string) string {
	if len(terms) == 0 {
		return ""
	}
	return fmt.Sprintf(" under %q", terms)
}

// performScale gets or updates a scale, which an update changes for what comes after it.
func (h *host) performScale(e *abi.Effect) (abi.Outcome, error) {
	for i := range h.scales {
		s := &h.scales[i]
		if s.Of != e.Resource+" "+e.Name {
			continue
		}

		h.used.scales[i] = true
		if e.Kind == abi.EffectUpdate {
			sent, err := scaleOf(e)
			if err != nil {
				return abi.Outcome{}, err
			}
			s.Replicas = sent.Spec.Replicas
			s.version++
		}

		running := s.Replicas
		if s.Running != nil {
			running = *s.Running
		}

		o := autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name, UID: types.UID("uid-" + e.Name),
				ResourceVersion: strconv.Itoa(100 + s.version)},
			Spec:   autoscalingv1.ScaleSpec{Replicas: s.Replicas},
			Status: autoscalingv1.ScaleStatus{Replicas: running, Selector: s.Selector},
		}

		b, err := o.Marshal()
		if err != nil {
			return abi.Outcome{}, err
		}
		return abi.Outcome{Name: o.Name, UID: string(o.UID), Object: abi.ObjectData{Data: b,
			ResourceVersion: o.ResourceVersion}}, nil
	}
	return notFound(e), nil
}

func scaleOf(e *abi.Effect) (*autoscalingv1.Scale, error) {
	s := &autoscalingv1.Scale{}
	if err := s.Unmarshal(e.Object); err != nil {
		return nil, fmt.Errorf("the plugin sent a scale that can't be read: %w", err)
	}
	return s, nil
}
