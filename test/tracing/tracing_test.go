// Package tracing has a collector receive the spans of syncs on a real cluster.
package tracing

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/tracing/tracingtest"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/module"
	"github.com/windlass-dev/windlass/test/windlass"
)

const password = "correct-horse-battery-staple"

// The spans of a sync are one tree, from the queue to the API server's request; nothing secret is in them; and a
// collector that isn't there, or never answers, holds up no sync.
func TestSpans(t *testing.T) {
	plugins := t.TempDir()
	module.Build(t, filepath.Join(plugins, "secretive.wasm"), "test/replay/testdata/secretive")
	c := cluster.Start(t, cluster.Options{})
	client := c.Client()
	mute, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and never says a word
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	closed, _ := cluster.FreeAddress(t)
	r := tracingtest.Start(t)
	var mu sync.Mutex
	var endpoint string
	headers := &headers{}
	m := windlass.Start(t, c, windlass.Options{
		Controllers: []string{"replicaset", "serviceaccount", "secretive-controller"},
		Configure: func(k *config.Configuration) {
			mu.Lock()
			defer mu.Unlock()
			k.Tracing.Endpoint = endpoint
			k.PluginFolder = plugins
			// for upstream's roles give no controller what secretive does here
			k.ClientConnection.Kubeconfig, k.UseServiceAccountCredentials = c.Kubeconfig, false
		},
		Wrap: func(k *rest.Config) { k.Wrap(headers.wrap) },
	})
	use := func(where string) {
		mu.Lock()
		endpoint = where
		mu.Unlock()
		m.Reload()
		m.Reload() // is taken once the first has been applied
	}
	windlass.Account(t, client, "default")

	timeReplicaSet(t, client, "untraced", 2)
	if sent := headers.all(); len(sent) > 0 {
		t.Errorf("requests have traceparent %v while nothing is traced", sent)
	}

	use(r.Address)
	usual := timeReplicaSet(t, client, "traced", 3)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s", Labels: map[string]string{"spread": "yes"}},
		Data: map[string][]byte{"password": []byte(password)}}
	if _, err := client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var made, failed *tracingtest.Span
	cluster.Eventually(t, time.Minute, "the spans of both syncs come", func() (bool, string) {
		var seen []string
		for _, x := range r.Roots() {
			seen = append(seen, x.Text("windlass.controller")+" "+x.Text("windlass.key")+" "+x.Text("windlass.result"))
			switch {
			case x.Text("windlass.controller") == "replicaset-controller" && x.Text("windlass.key") == "default/traced" &&
				len(x.Named("effect create")) > 0:
				made = x
			case x.Text("windlass.controller") == "secretive-controller" && x.Text("windlass.result") == "error":
				failed = x
			}
		}
		return made != nil && failed != nil, strings.Join(seen, ", ")
	})
	checkCreation(t, m, made, headers)
	if failed.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || failed.Status.Message != "error" {
		t.Errorf("the failed sync's status is %v", failed.Status)
	}
	received := string(r.Received())
	for _, value := range []string{password, base64.StdEncoding.EncodeToString([]byte(password))} {
		if strings.Contains(received, value) {
			t.Errorf("the spans have the secret %q", value)
		}
	}
	// once the collector has answered
	cluster.Eventually(t, time.Minute, "the exported spans are counted", func() (bool, string) {
		n := m.Count(t, "windlass_trace_spans_total", "result", "exported")
		return n > 0, fmt.Sprint(n)
	})

	for name, where := range map[string]string{"unreachable": closed, "mute": mute.Addr().String()} {
		use(where)
		const tries = 5
		quick := false
		for n := 0; n < tries && !quick; n++ { // other processes share the machine
			took := timeReplicaSet(t, client, fmt.Sprint(name, "-", n), 3)
			t.Logf("%s: pods after %v, and after %v with a collector that is well", name, took, usual)
			quick = took < 10*usual
		}
		if !quick {
			t.Errorf("with a collector that is %s, a replica set waits for its pods more than ten times as long in each of %d tries", name, tries)
		}
	}
	cluster.Eventually(t, time.Minute, "the lost spans are counted", func() (bool, string) {
		n := m.Count(t, "windlass_trace_spans_total", "result", "failed")
		return n > 0, fmt.Sprint(n)
	})
	stop := func(m *windlass.Manager) time.Duration {
		begin := time.Now()
		m.Stop(t)
		return time.Since(begin)
	}
	mutely := stop(m)
	untraced := stop(windlass.Start(t, c, windlass.Options{Controllers: []string{"replicaset", "serviceaccount"}}))
	if mutely > untraced+8*time.Second { // the flush may take three, and would take ten were it not bounded
		t.Errorf("windlass took %v to stop with a mute collector, and %v without", mutely, untraced)
	}
}

// timeReplicaSet makes a replica set and returns how long it waited for its pods, which is moments whatever the
// collector does.
func timeReplicaSet(t *testing.T, client kubernetes.Interface, name string, replicas int32) time.Duration {
	t.Helper()
	begin := time.Now()
	labels := map[string]string{"app": name}
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}}}
	if _, err := client.AppsV1().ReplicaSets("default").Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, time.Minute, "the pods of "+name, func() (bool, string) {
		s, err := client.AppsV1().ReplicaSets("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		return s.Status.Replicas == replicas, fmt.Sprint(s.Status.Replicas)
	})
	return time.Since(begin)
}

// checkCreation checks the tree of a sync of a replica set that has created pods.
func checkCreation(t *testing.T, m *windlass.Manager, x *tracingtest.Span, sent *headers) {
	t.Helper()
	digest := ""
	for _, p := range m.Status(t).Plugins {
		if p.Name == "replicaset" {
			digest = p.Digest
		}
	}

	if x.Name != "sync" || x.Text("windlass.plugin") != "replicaset" || x.Text("windlass.plugin.digest") != digest ||
		digest == "" || !x.Has("windlass.queue.seconds") || !x.Has("windlass.attempt") {
		t.Errorf("the root is %v", x.Span)
	}
	if len(x.Named("snapshot")) != 1 || len(x.Named("guest")) != 1 {
		t.Fatalf("it doesn't have one snapshot and one guest within: %v", x.Within)
	}

	guest := x.Named("guest")[0]
	if guest.Int("windlass.fuel") == 0 || guest.Int("windlass.memory.bytes") == 0 ||
		int(guest.Int("windlass.performs")) != len(guest.Named("perform")) {
		t.Errorf("the guest's call is %v", guest.Span)
	}

	creates := x.Named("effect create")
	for _, e := range creates {
		if e.Text("windlass.resource") != "v1/pods" || e.Int("http.response.status_code") != http.StatusCreated ||
			e.Kind != tracepb.Span_SPAN_KIND_CLIENT {
			t.Errorf("a create is %v", e.Span)
		}
		if !sent.hasSpan(e) {
			t.Errorf("no request has the traceparent of span %x of trace %x, but: %v", e.SpanId, e.TraceId, sent.all())
		}
	}
	if len(creates) != 3 {
		t.Errorf("%d pods are created, want 3", len(creates))
	}

	for _, name := range []string{"snapshot", "guest", "perform", "effect create"} {
		for _, s := range x.Named(name) {
			if s.StartTimeUnixNano < x.StartTimeUnixNano || s.EndTimeUnixNano > x.EndTimeUnixNano ||
				string(s.TraceId) != string(x.TraceId) {
				t.Errorf("%s is not within the sync: %v", name, s.Span)
			}
		}
	}
}

// headers are the traceparent headers of requests.
type headers struct {
	mu   sync.Mutex
	seen []string
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (h *headers) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if p := r.Header.Get("traceparent"); p != "" {
			h.mu.Lock()
			h.seen = append(h.seen, p)
			h.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

func (h *headers) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.seen...)
}

func (h *headers) hasSpan(s *tracingtest.Span) bool {
	want := "00-" + hex.EncodeToString(s.TraceId) + "-" + hex.EncodeToString(s.SpanId) + "-01"
	for _, p := range h.all() {
		if p == want {
			return true
		}
	}
	return false
}
