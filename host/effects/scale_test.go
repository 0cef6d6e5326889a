package effects

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/schema/schematest"
)

// versioned is a store of which only the version is of interest.
type versioned struct{ version string }

func (s *versioned) Get(_, _ string) *cache.Object { return nil }
func (s *versioned) Version() string               { return s.version }

// A key that has written a scale waits for the object that was scaled, whose version the scale has.
func TestWaitsForAScale(t *testing.T) {
	answer := func(w http.ResponseWriter, version string, replicas int32) {
		w.Header().Set("Content-Type", envelope.Protobuf)
		_, _ = w.Write(envelope.Wrap("autoscaling/v1", "Scale", schematest.Marshal(t, &autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u", ResourceVersion: version},
			Spec:       autoscalingv1.ScaleSpec{Replicas: replicas},
		})))
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		if r.Method == http.MethodGet {
			answer(w, "7", 3)
		} else {
			answer(w, "9", 5)
		}
	}))
	defer server.Close()
	store := &versioned{"7"}
	stores := func(abi.Resource) Store { return store }
	w, err := New(Options{Plugin: "p", Config: &rest.Config{Host: server.URL}, Stores: stores, Controller: &abi.Controller{
		Name:   "c",
		Views:  []abi.View{{Name: "deployments", Resource: deployments, Fields: []string{"spec.replicas"}}},
		Writes: []abi.Write{{Resource: deployments, Subresource: "scale", Verbs: []string{"get", "update"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()

	key := abi.KeyRef{Namespace: "default", Name: "web"}
	s := w.Begin(key, nil)
	scale := abi.Effect{Kind: abi.EffectGet, Resource: "apps/v1/deployments", Subresource: "scale",
		Namespace: "default", Name: "web"}
	out, err := s.Perform(t.Context(), []abi.Effect{scale})
	if err != nil {
		t.Fatal(err)
	}
	var got autoscalingv1.Scale
	if err := got.Unmarshal(out[0].Object.Data); err != nil || got.Spec.Replicas != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	got.Spec.Replicas = 5
	scale.Kind, scale.Object = abi.EffectUpdate, schematest.Marshal(t, &got)
	if _, err := s.Perform(t.Context(), []abi.Effect{scale}); err != nil {
		t.Fatal(err)
	}
	s.End()

	for _, before := range []string{"7", "8"} {
		if store.version = before; w.Ready(key) {
			t.Errorf("synced at version %s, from before it was scaled", before)
		}
	}
	if store.version = "9"; !w.Ready(key) {
		t.Error("not synced at the version that it was scaled at")
	}
}
