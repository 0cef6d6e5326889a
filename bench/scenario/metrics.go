package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// metricsServer is a metrics.k8s.io for pods with a label app: those of one app share a load.
type metricsServer struct {
	load atomic.Int64 // of each app, in thousandths of a core

	mu   sync.Mutex
	apps map[string]map[string]bool // the pods of each app
}

type object = map[string]any

// ServeHTTP answers discovery, and lists of the metrics of one app's pods.
func (s *metricsServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if !strings.HasSuffix(r.URL.Path, "/pods") {
		_ = json.NewEncoder(w).Encode(
			object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "metrics.k8s.io/v1beta1",
				"resources": []object{}})
		return
	}
	parts := strings.Split(r.URL.Path, "/")
	app := strings.TrimPrefix(r.URL.Query().Get("labelSelector"), "app=")
	now := time.Now().UTC().Format(time.RFC3339)
	items := []object{}
	s.mu.Lock()
	for pod := range s.apps[app] {
		items = append(items, object{"metadata": object{"name": pod, "namespace": parts[len(parts)-2]}, "timestamp": now,
			"window": "0s", "containers": []object{
				{"name": "web", "usage": object{"cpu": fmt.Sprint(s.load.Load()/int64(len(s.apps[app])), "m"), "memory": "16Mi"}}}})
	}
	s.mu.Unlock()
	_ = json.NewEncoder(w).Encode(
		object{"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": object{}, "items": items})
}

// serveMetrics serves the metrics of a namespace's pods by way of the API server, until the world is closed.
func (w *World) serveMetrics(ctx context.Context, namespace string) (*metricsServer, error) {
	s := &metricsServer{apps: map[string]map[string]bool{}}
	follow, cancel := context.WithCancel(context.WithoutCancel(ctx))
	pods := w.informer(w.Client.CoreV1().RESTClient(), "pods", namespace, &corev1.Pod{}, func(o any) {
		p := o.(*corev1.Pod)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.apps[p.Labels["app"]] == nil {
			s.apps[p.Labels["app"]] = map[string]bool{}
		}
		s.apps[p.Labels["app"]][p.Name] = true
	})

	var following sync.WaitGroup
	following.Go(func() { pods.RunWithContext(follow) })
	cache.WaitForCacheSync(ctx.Done(), pods.HasSynced)
	https := httptest.NewTLSServer(s)
	w.closers = append(w.closers, func() { https.CloseClientConnections(); https.Close(); cancel(); following.Wait() })
	at, err := url.Parse(https.URL)
	if err != nil {
		return nil, err
	}

	port, err := strconv.ParseInt(at.Port(), 10, 64)
	if err != nil {
		return nil, err
	}
	if _, err := w.Client.CoreV1().Services(namespace).Create(ctx,
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "metrics"},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"}},
		metav1.CreateOptions{}); err != nil {
		return nil, err
	}

	services := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	config := *w.Config
	config.ContentType, config.AcceptContentTypes = "", "" // objects of no type travel as JSON
	d, err := dynamic.NewForConfig(&config)
	if err != nil {
		return nil, err
	}
	if _, err := d.Resource(services).Create(ctx,
		&unstructured.Unstructured{Object: object{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
			"metadata": object{"name": "v1beta1.metrics.k8s.io"},
			"spec": object{"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": int64(100),
				"versionPriority": int64(100), "insecureSkipTLSVerify": true,
				"service": object{"namespace": namespace, "name": "metrics", "port": port}}}}, metav1.CreateOptions{}); err != nil {
		return nil, err
	}

	return s, w.pollUntil(ctx, 50*time.Millisecond, "metrics are served", func() (bool, string, error) {
		b, err := w.Client.Discovery().RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1").SetHeader("Accept",
			"application/json").DoRaw(ctx)
		return err == nil && strings.Contains(string(b), "APIResourceList"), string(b), err
	})
}
