package controller

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/views"
)

// The event of a write that comes before its answer wakes the key only if a view wants to hear echoes; that of another's write wakes it in any case, once the sync is over.
func TestEarlyEcho(t *testing.T) {
	configMaps := abi.Resource{Version: "v1", Name: "configmaps"}
	k := Key{Namespace: "n", Name: "k"}
	for _, x := range []struct {
		name    string
		quietOn []string
		uid     string // of the object in the event
		delay   time.Duration
		want    int // keys that wait at once
	}{
		{"an echo", []string{abi.QuietOwn}, "written", 0, 0},
		{"an echo that is loud", nil, "written", 0, 1},
		{"somebody else's write", []string{abi.QuietOwn}, "foreign", 0, 1},
		{"somebody else's write, of a batch", []string{abi.QuietOwn}, "foreign", time.Hour, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			m := &abi.Controller{Name: "c", Views: []abi.View{{Name: "maps", Resource: configMaps, QuietOn: x.quietOn}},
				Writes: []abi.Write{{Resource: configMaps, Verbs: []string{"create"}}}}
			plan, err := views.Compile(m)
			if err != nil {
				t.Fatal(err)
			}
			resource, err := schema.For(configMaps)
			if err != nil {
				t.Fatal(err)
			}
			var c *Controller
			codec := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "k", UID: "written", ResourceVersion: "7"}}
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					t.Error(err)
				}
				c.Woken(k, x.delay, cache.Event{Resource: resource, New: &cache.Object{Resource: resource, Namespace: "n", Name: "k", UID: types.UID(x.uid), ResourceVersion: "7"}})
				if n := c.Depth(); n != 0 {
					t.Errorf("%d keys wait while the key is being synced", n)
				}
				w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
				w.WriteHeader(http.StatusCreated)
				if err := codec.Encode(made, w); err != nil {
					t.Error(err)
				}
			}))
			defer server.Close()
			writer, err := effects.New(effects.Options{Controller: m, Config: &rest.Config{Host: server.URL}})
			if err != nil {
				t.Fatal(err)
			}
			writer.Lead()
			v := &Version{Manifest: m, Writer: writer, Plan: plan}
			c = New(Options{}, v)
			defer c.queue.ShutDown()

			c.hold(k)
			o, err := (&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "k"}}).Marshal()
			if err != nil {
				t.Fatal(err)
			}
			s := writer.Begin(k, &views.Snapshot{})
			out, err := s.Perform(t.Context(), []abi.Effect{{Kind: abi.EffectCreate, Resource: "v1/configmaps", Namespace: "n", Object: o}})
			if err != nil || out[0].Code != abi.CodeOK {
				t.Fatalf("%+v, %v", out, err)
			}
			s.End()
			c.resume(v, k)
			if n := c.Depth(); n != x.want {
				t.Errorf("%d keys wait after the sync, want %d", n, x.want)
			}
		})
	}
}
