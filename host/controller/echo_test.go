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
	"github.com/windlass-dev/windlass/host/syncer"
	"github.com/windlass-dev/windlass/host/views"
)

// The event of a write that comes before its answer wakes the key only if a view wants to hear echoes; that of
// another's write wakes it in any case, once the sync is over.
func TestEarlyEcho(t *testing.T) {
	k := Key{Namespace: "n", Name: "k"}
	for _, x := range []struct {
		name    string
		quietOn []string
		uid     types.UID // of the object in the event
		delay   time.Duration
		want    int // keys that wait at once
	}{
		{"an echo", []string{abi.QuietOwn}, "written", 0, 0},
		{"an echo that is loud", nil, "written", 0, 1},
		{"somebody else's write", []string{abi.QuietOwn}, "foreign", 0, 1},
		{"somebody else's write, of a batch", []string{abi.QuietOwn}, "foreign", time.Hour, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			event := ofConfigMap(t, x.uid)
			c, v := written(t, x.quietOn, func(c *Controller) {
				c.Woken(k, x.delay, event)
				if n := c.Depth(); n != 0 {
					t.Errorf("%d keys wait while the key is being synced", n)
				}
			})

			c.resumeKey(v, k)
			if n := c.Depth(); n != x.want {
				t.Errorf("%d keys wait after the sync, want %d", n, x.want)
			}
		})
	}
}

// What comes while a key is synced isn't lost among the echoes of its own writes, however many these are.
func TestAForeignEventBehindManyEchoes(t *testing.T) {
	k := Key{Namespace: "n", Name: "k"}
	echo, foreign := ofConfigMap(t, "written"), ofConfigMap(t, "foreign")
	for _, x := range []struct {
		events []cache.Event // after the echoes
		want   int
	}{
		{nil, 0},
		{[]cache.Event{foreign}, 1},
		{[]cache.Event{foreign, echo}, 1},
	} {
		c, v := written(t, []string{abi.QuietOwn}, func(c *Controller) {
			c.queue.Add(k)
			c.queue.Get()
			for range seenMax {
				c.Woken(k, 0, echo)
			}
			for _, e := range x.events {
				c.Woken(k, 0, e)
			}
		})

		c.resumeKey(v, k)
		c.queue.Done(k)
		if n := c.Depth(); n != x.want {
			t.Errorf("%d events after %d echoes: %d keys wait after the sync, want %d", len(x.events), seenMax, n, x.want)
		}
	}
}

var configMaps = abi.Resource{Version: "v1", Name: "configmaps"}

// ofConfigMap is the event of a config map with that UID.
func ofConfigMap(t *testing.T, uid types.UID) cache.Event {
	t.Helper()
	resource, err := schema.For(configMaps)
	if err != nil {
		t.Fatal(err)
	}
	o := &cache.Object{Resource: resource, Namespace: "n", Name: "k", UID: uid, ResourceVersion: "7"}
	return cache.Event{Resource: resource, New: o}
}

// written is a controller whose key n/k is being synced and has created a config map with the UID written; during is
// what happens before the answer to that.
func written(t *testing.T, quietOn []string, during func(c *Controller)) (c *Controller, v *Version) {
	t.Helper()
	k := Key{Namespace: "n", Name: "k"}
	m := &abi.Controller{Name: "c", Views: []abi.View{{Name: "maps", Resource: configMaps, QuietOn: quietOn}},
		Writes: []abi.Write{{Resource: configMaps, Verbs: []string{"create"}}}}
	plan, err := views.Compile(m)
	if err != nil {
		t.Fatal(err)
	}
	codec := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "k", UID: "written",
			ResourceVersion: "7"}}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		during(c)
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
		w.WriteHeader(http.StatusCreated)
		if err := codec.Encode(made, w); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	writer, err := effects.New(effects.Options{Controller: m, Config: &rest.Config{Host: server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	writer.Lead()
	v = &Version{Target: syncer.Target{Manifest: m, Writer: writer, Plan: plan}}
	c = New(Options{}, v)
	t.Cleanup(c.queue.ShutDown)

	c.holdEvents(k)
	o, err := (&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "k"}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	s := writer.Begin(k, &views.Snapshot{})
	create := abi.Effect{Kind: abi.EffectCreate, Resource: "v1/configmaps", Namespace: "n", Object: o}
	out, err := s.Perform(t.Context(), []abi.Effect{create})
	if err != nil || out[0].Code != abi.CodeOK {
		t.Fatalf("%+v, %v", out, err)
	}
	s.End()
	return c, v
}
