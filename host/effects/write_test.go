package effects

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/schema/schematest"
)

// echoServer answers each write with what was sent, under another version and with a UID.
func echoServer(b testing.TB) *httptest.Server {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			b.Error(err)
			return
		}
		version, kind, raw, err := envelope.Unwrap(body)
		if err == nil {
			raw, err = envelope.SetVersion(raw, "123456", "8a1f4a9e-5d2b-4b8e-9a53-0d5c9b1d7f10")
		}
		if err != nil {
			b.Error(err)
			return
		}
		w.Header().Set("Content-Type", envelope.Protobuf)
		_, _ = w.Write(envelope.Wrap(version, kind, raw))
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	b.Cleanup(s.Close)
	return s
}

// podWriter writes pods and replica sets to a server that echoes.
func podWriter(b testing.TB) *Writer {
	s := echoServer(b)
	w, err := New(Options{Plugin: "p", Controller: &abi.Controller{
		Name: "c",
		Views: []abi.View{{Name: "pods", Resource: abi.Resource{Version: "v1", Name: "pods"},
			Fields: []string{"metadata", "spec.nodeName", "status.phase", "status.conditions"}}},
		Writes: []abi.Write{{Resource: abi.Resource{Version: "v1", Name: "pods"}, Verbs: []string{"create", "delete"}}},
	}, Config: &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.Close)
	return w
}

// templatePod is a pod as a replica set would create it, of some 3 KB.
func templatePod() *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "web-5d4f-", Namespace: "default",
		Labels: map[string]string{"app": "web", "pod-template-hash": "5d4f"}, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-5d4f", UID: "5a8a9d0e-0b3d-4a39-8a3a-0d5c9b1d7f10",
			Controller: new(bool), BlockOwnerDeletion: new(bool)}}}}
	*p.OwnerReferences[0].Controller = true
	c := corev1.Container{Name: "web", Image: "registry.example.com/web:1"}
	for i := range 30 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprint("SETTING_", i), Value: strings.Repeat("value", 12)})
	}
	p.Spec.Containers = []corev1.Container{c}
	return p
}

// BenchmarkCreate is one of a sync's creates, from the effect to its outcome, with a server that does nothing.
func BenchmarkCreate(b *testing.B) {
	w := podWriter(b)
	effects := []abi.Effect{{Kind: abi.EffectCreate, Resource: "v1/pods", Namespace: "default",
		Object: schematest.Marshal(b, templatePod())}}
	key := abi.KeyRef{Namespace: "default", Name: "web"}
	b.ReportAllocs()
	for b.Loop() {
		s := w.Begin(key, nil)
		if err := s.Finish(b.Context(), effects); err != nil {
			b.Fatal(err)
		}
		s.End()
	}
}

// A request takes no more memory than it needs: most of it is net/http's.
func TestOnceAllocations(t *testing.T) {
	w := podWriter(t)
	effects := []abi.Effect{{Kind: abi.EffectCreate, Resource: "v1/pods", Namespace: "default",
		Object: schematest.Marshal(t, templatePod())}}
	if n := testing.AllocsPerRun(100, func() {
		s := w.Begin(abi.KeyRef{Namespace: "default", Name: "web"}, nil)
		if err := s.Finish(t.Context(), effects); err != nil {
			t.Error(err)
		}
		s.End()
	}); n > 215 {
		t.Errorf("creating a pod takes %v allocations, the server's included; a client-go Request's were 273", n)
	}
}

// After its version was revoked a sync writes nothing more.
func TestRevoked(t *testing.T) {
	w := podWriter(t)
	pod := schematest.Marshal(t, templatePod())
	create := []abi.Effect{{Kind: abi.EffectCreate, Resource: "v1/pods", Namespace: "default", Object: pod}}
	s := w.Begin(abi.KeyRef{Namespace: "default", Name: "web"}, nil)
	defer s.End()
	if _, err := s.Perform(t.Context(), create); err != nil {
		t.Fatal(err)
	}

	w.Revoke()
	out, err := s.Perform(t.Context(), create)
	const why = "this version of plugin p was turned off or replaced, or its rights have changed"
	if err != nil || out[0].Code != abi.CodeFailed || !strings.Contains(out[0].Message, why) {
		t.Errorf("performed: %+v, %v", out, err)
	}
	if err := s.Finish(t.Context(), create); err == nil || s.Writes() != 1 {
		t.Errorf("answered: %v, %d writes", err, s.Writes())
	}
}
