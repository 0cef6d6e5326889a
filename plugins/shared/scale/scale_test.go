package scale_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	upstream "k8s.io/client-go/scale"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/plugins/shared/scale"
	"github.com/windlass-dev/windlass/sdk"
	guestautoscalingv1 "github.com/windlass-dev/windlass/sdk/api/autoscaling/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

const (
	namespace = "shop"
	name      = "web"
)

// target is the resource whose objects are scaled.
var target = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

// server has the scale of one object, as the API server serves it to upstream's client, and the host to plugins.
type server struct {
	scale    *autoscalingv1.Scale // nil where there is no such object
	stranger func(*autoscalingv1.Scale)
	asked    []string // verb and path of each request
	put      []autoscalingv1.Scale
}

// answer does what a request asks for; put is what it sends, nil where it reads.
func (s *server) answer(path string, put *autoscalingv1.Scale) (*autoscalingv1.Scale, *apierrors.StatusError) {
	verb := "get "
	if put != nil {
		verb = "put "
		s.put = append(s.put, *put)
	}
	s.asked = append(s.asked, verb+path)

	switch {
	case s.scale == nil:
		return nil, apierrors.NewNotFound(target.GroupResource(), name)
	case put == nil:
		return s.scale, nil
	}

	if s.stranger != nil {
		s.stranger(s.scale)
		s.stranger = nil
	}
	if put.ResourceVersion != s.scale.ResourceVersion {
		return nil, apierrors.NewConflict(target.GroupResource(), name, errors.New("somebody was quicker"))
	}
	s.scale.Spec = put.Spec
	nextVersion(s.scale)
	return s.scale, nil
}

func nextVersion(s *autoscalingv1.Scale) {
	n, _ := strconv.Atoi(s.ResourceVersion)
	s.ResourceVersion = strconv.Itoa(n + 1)
}

// ServeHTTP answers upstream's client.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var put *autoscalingv1.Scale
	if r.Method == http.MethodPut {
		put = &autoscalingv1.Scale{}
		if err := json.NewDecoder(r.Body).Decode(put); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}

	w.Header().Set("Content-Type", "application/json")
	scale, failed := s.answer(r.URL.Path, put)
	if failed != nil {
		w.WriteHeader(int(failed.ErrStatus.Code))
		_ = json.NewEncoder(w).Encode(failed.ErrStatus)
		return
	}
	typed := *scale
	typed.Kind, typed.APIVersion = "Scale", "autoscaling/v1"
	_ = json.NewEncoder(w).Encode(typed)
}

// perform answers a plugin.
func (s *server) perform(r *abi.PerformRequest) (*abi.PerformResponse, error) {
	if len(r.Effects) != 1 || r.Effects[0].Subresource != "scale" {
		return nil, fmt.Errorf("want one effect on a scale, not %+v", r.Effects)
	}
	e := &r.Effects[0]
	group, resource := path.Split(e.Resource)
	at := path.Join("/apis", group, "namespaces", e.Namespace, resource, e.Name, "scale")

	var put *autoscalingv1.Scale
	if e.Kind == abi.EffectUpdate {
		put = &autoscalingv1.Scale{}
		if err := put.Unmarshal(e.Object); err != nil {
			return nil, err
		}
		if e.Version != put.ResourceVersion || e.UID != string(put.UID) {
			return nil, fmt.Errorf("the effect is for version %s of %s, its object is %+v", e.Version, e.UID, put)
		}
	} else if e.Kind != abi.EffectGet {
		return nil, fmt.Errorf("an effect of kind %d", e.Kind)
	}

	scale, failed := s.answer(at, put)
	if failed != nil {
		return &abi.PerformResponse{Outcomes: []abi.Outcome{{Code: abi.CodeFailed, Reason: string(failed.ErrStatus.Reason),
			Message: failed.ErrStatus.Message}}}, nil
	}
	b, err := scale.Marshal()
	return &abi.PerformResponse{Outcomes: []abi.Outcome{{Object: abi.ObjectData{Data: b,
		ResourceVersion: scale.ResourceVersion}}}}, err
}

// ScaleForResource says in which form the scale is served.
func (s *server) ScaleForResource(schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return autoscalingv1.SchemeGroupVersion.WithKind("Scale"), nil
}

// ResourceFor returns the version of a resource that is served.
func (s *server) ResourceFor(schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return target, nil
}

// outcome is what somebody has come to who sets a number of replicas.
type outcome struct {
	Got, Left *autoscalingv1.Scale // what was read at first, and what is known in the end
	Failures  []string             // reasons, of what was asked in turn
	Asked     []string
	Put       []autoscalingv1.Scale
	Served    *autoscalingv1.Scale
}

// scaleUpstream reads the scale and sets the number, once more where somebody else was quicker, as upstream's
// autoscaler does with client-go (pkg/controller/podautoscaler/horizontal.go).
func scaleUpstream(t *testing.T, s *server, replicas int32) (o outcome) {
	t.Helper()
	h := httptest.NewServer(s)
	defer h.Close()
	client, err := upstream.NewForConfig(&rest.Config{Host: h.URL}, s, dynamic.LegacyAPIPathResolverFunc, s)
	if err != nil {
		t.Fatal(err)
	}

	scales, resource := client.Scales(namespace), target.GroupResource()
	read, err := scales.Get(t.Context(), resource, name, metav1.GetOptions{})
	o.note(apierrors.ReasonForError(err), err)
	if err != nil {
		return o
	}
	o.Got = read.DeepCopy()
	for range 2 {
		read.Spec.Replicas = replicas
		written, err := scales.Update(t.Context(), resource, read, metav1.UpdateOptions{})
		o.note(apierrors.ReasonForError(err), err)
		if err == nil {
			o.Left = written
			return o
		}
		read, err = scales.Get(t.Context(), resource, name, metav1.GetOptions{})
		o.note(apierrors.ReasonForError(err), err)
	}
	return o
}

// scaleOurs does the same in a sync.
func scaleOurs(t *testing.T, s *server, replicas int32) (o outcome) {
	t.Helper()
	p := &sdk.Plugin{Name: "p", Controllers: []*sdk.Controller{{Name: "c",
		Reads: sdk.Views{sdk.Key(corev1.Namespaces)}, Sync: func(c *sdk.Call) error {
			read, err := scale.Get(c, "apps/v1/deployments", namespace, name)
			o.note(reason(err), err)
			if err != nil {
				return nil
			}
			o.Got = theirs(t, read)
			for range 2 {
				read.Spec.Replicas = replicas
				err := read.Update(c)
				o.note(reason(err), err)
				if err == nil {
					o.Left = theirs(t, read)
					return nil
				}
				if kept := theirs(t, read); kept.ResourceVersion != o.Got.ResourceVersion || kept.Spec.Replicas != replicas {
					t.Errorf("a write that failed has left %+v", kept)
				}
				err = read.Refresh(c)
				o.note(reason(err), err)
			}
			return nil
		}}}}

	p.Manifest()
	if a := sdk.Run(p, &abi.SyncRequest{Views: make([]abi.ViewData, 1)}, nil, s.perform); a.Error != "" {
		t.Errorf("the sync failed: %s", a.Error)
	}
	return o
}

func (o *outcome) note(reason metav1.StatusReason, err error) {
	if err != nil {
		o.Failures = append(o.Failures, string(reason))
	}
}

// reason returns that of an error which the API server gave.
func reason(err error) metav1.StatusReason {
	if e, ok := err.(*sdk.Error); ok {
		return metav1.StatusReason(e.Reason)
	}
	return metav1.StatusReasonUnknown
}

// theirs returns a scale as upstream's type has it.
func theirs(t *testing.T, s *scale.Scale) *autoscalingv1.Scale {
	t.Helper()
	out := &autoscalingv1.Scale{}
	if err := out.Unmarshal(wire.Append(nil, unsafe.Pointer(&s.Scale), &guestautoscalingv1.ScaleTable)); err != nil {
		t.Fatal(err)
	}
	return out
}

// What is read, asked for and written is what upstream's client does.
func TestScale(t *testing.T) {
	served := func(spec, status int32, selector string) *autoscalingv1.Scale {
		return &autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "u-1", ResourceVersion: "7",
				CreationTimestamp: metav1.Unix(1_800_000_000, 0)},
			Spec:   autoscalingv1.ScaleSpec{Replicas: spec},
			Status: autoscalingv1.ScaleStatus{Replicas: status, Selector: selector},
		}
	}
	others := func(s *autoscalingv1.Scale) { s.Spec.Replicas = 9; nextVersion(s) }

	for what, c := range map[string]struct {
		scale    *autoscalingv1.Scale
		stranger func(*autoscalingv1.Scale)
		replicas int32
		asked    string
	}{
		"more":                 {served(2, 2, "app=web"), nil, 5, "get put"},
		"none":                 {served(2, 1, "app=web"), nil, 0, "get put"},
		"from none":            {served(0, 0, ""), nil, 1, "get put"},
		"as many":              {served(3, 3, "app in (a,b),!c"), nil, 3, "get put"},
		"the most":             {served(1, 1, "app=web"), nil, 1<<31 - 1, "get put"},
		"somebody was quicker": {served(2, 2, "app=web"), others, 5, "get put get put"},
		"nothing there":        {nil, nil, 5, "get"},
	} {
		t.Run(what, func(t *testing.T) {
			run := func(f func(*testing.T, *server, int32) outcome) outcome {
				s := &server{scale: c.scale.DeepCopy(), stranger: c.stranger}
				o := f(t, s, c.replicas)
				o.Asked, o.Put, o.Served = s.asked, s.put, s.scale
				for i := range o.Put {
					o.Put[i].TypeMeta = metav1.TypeMeta{}
				}
				for _, x := range []*autoscalingv1.Scale{o.Got, o.Left} {
					if x != nil {
						x.TypeMeta = metav1.TypeMeta{}
					}
				}
				return o
			}

			want, got := run(scaleUpstream), run(scaleOurs)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("otherwise than upstream (-upstream +ours):\n%s", d)
			}
			var verbs []string
			for _, a := range got.Asked {
				verb, at, _ := strings.Cut(a, " ")
				verbs = append(verbs, verb)
				if at != "/apis/apps/v1/namespaces/shop/deployments/web/scale" {
					t.Errorf("asked for %s", at)
				}
			}
			if asked := strings.Join(verbs, " "); asked != c.asked {
				t.Errorf("asked %s, want %s", asked, c.asked)
			}
			if c.scale != nil && (got.Left == nil || got.Left.Spec.Replicas != c.replicas ||
				got.Served.Spec.Replicas != c.replicas) {
				t.Errorf("scaled to %+v, served is %+v, want %d replicas", got.Left, got.Served, c.replicas)
			}
		})
	}
}

// What the host answers that is no scale is an error, and no scale of nothing.
func TestNoScale(t *testing.T) {
	p := &sdk.Plugin{Name: "p", Controllers: []*sdk.Controller{{Name: "c",
		Reads: sdk.Views{sdk.Key(corev1.Namespaces)}, Sync: func(c *sdk.Call) error {
			_, err := scale.Get(c, "apps/v1/deployments", namespace, name)
			return err
		}}}}
	p.Manifest()
	a := sdk.Run(p, &abi.SyncRequest{Views: make([]abi.ViewData, 1)}, nil,
		func(*abi.PerformRequest) (*abi.PerformResponse, error) {
			return &abi.PerformResponse{Outcomes: []abi.Outcome{{Object: abi.ObjectData{Data: []byte("\x0a\xff")}}}}, nil
		})
	if a.Error == "" {
		t.Error("bytes that break off are taken as a scale")
	}
}
