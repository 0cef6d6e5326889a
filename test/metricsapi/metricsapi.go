// Package metricsapi serves what a test sets as the three metrics APIs of a cluster, each a real aggregated one.
package metricsapi

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/test/cluster"
)

const namespace = "default" // of the service that the APIs are behind

// Server serves the APIs. Of the pods with a label app it serves what usage says of that app.
type Server struct {
	pods   listers.PodLister
	mu     sync.Mutex
	usage  map[string]map[string]string // by app, what each pod uses of a resource or has of a metric
	values map[string]string
	asked  int
}

type object = map[string]any

// Use has each pod of an app use so much of a resource ("cpu"), or have that of a metric: "hits?verb=GET" is the one
// with that selector.
func (s *Server) Use(app, name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.usage[app] == nil {
		s.usage[app] = map[string]string{}
	}
	s.usage[app][name] = value
}

// Say gives a value to an object's metric ("services/db/queue"), or one to each series of an external metric
// ("jobs?zone in (a)").
func (s *Server) Say(name, values string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[name] = values
}

// Requests is how often metrics were asked for.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// ServeHTTP answers what the API server passes on.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var answer any
	switch {
	case len(parts) == 3 && parts[0] == "apis":
		answer = object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": parts[1] + "/" + parts[2],
			"resources": []object{}}
	case len(parts) > 5 && parts[0] == "apis" && parts[3] == "namespaces":
		answer = s.answerQuery(parts[1], parts[4], parts[5:], r.URL.Query())
	}
	w.Header().Set("Content-Type", "application/json")
	if answer == nil {
		w.WriteHeader(http.StatusNotFound)
		answer = metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure",
			Reason: metav1.StatusReasonNotFound, Code: 404,
			Message: "the server could not find the metric " + parts[len(parts)-1] + " for " + r.URL.Path}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (s *Server) answerQuery(group, namespace string, path []string, query url.Values) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	now := time.Now().UTC().Format(time.RFC3339)
	items := []object{}
	list := func(kind, version string) object {
		return object{"kind": kind, "apiVersion": group + "/" + version, "metadata": object{}, "items": items}
	}
	switch {
	case group == "external.metrics.k8s.io":
		value, ok := s.values[path[0]+"?"+query.Get("labelSelector")]
		if !ok {
			return nil
		}
		for _, v := range strings.Fields(value) {
			items = append(items, object{"metricName": path[0], "metricLabels": object{}, "timestamp": now, "value": v})
		}
		return list("ExternalMetricValueList", "v1beta1")

	case path[0] == "pods":
		selector, err := labels.Parse(query.Get("labelSelector"))
		if err != nil {
			return nil
		}
		pods, err := s.pods.Pods(namespace).List(selector)
		if err != nil {
			return nil
		}
		slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
		known := group == "metrics.k8s.io"
		for _, p := range pods {
			usage := s.usage[p.Labels["app"]]
			if group == "metrics.k8s.io" {
				if usage["cpu"] != "" {
					items = append(items, object{"metadata": object{"name": p.Name, "namespace": namespace}, "timestamp": now,
						"window": "0s", "containers": []object{
							{"name": "main", "usage": object{"cpu": usage["cpu"], "memory": cmp.Or(usage["memory"], "16Mi")}},
							{"name": "side", "usage": object{"cpu": "10m", "memory": "16Mi"}}}})
				}
				continue
			}
			if v, ok := usage[path[2]+"?"+query.Get("metricLabelSelector")]; ok {
				known = true
				items = append(items, object{"describedObject": object{"kind": "Pod", "name": p.Name, "namespace": namespace},
					"metric": object{"name": path[2]}, "timestamp": now, "value": v})
			}
		}
		switch {
		case !known:
			return nil
		case group == "metrics.k8s.io":
			return list("PodMetricsList", "v1beta1")
		}

	default:
		value, ok := s.values[strings.Join(path, "/")]
		if !ok {
			return nil
		}
		items = append(items, object{"describedObject": object{"name": path[1]}, "metric": object{"name": path[len(path)-1]},
			"timestamp": now, "value": value})
	}
	return list("MetricValueList", "v1beta2")
}

var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// Serve starts the server, has the API server serve its APIs, and returns when it does.
func Serve(t testing.TB, config *rest.Config) *Server {
	t.Helper()
	ctx := t.Context()
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	following := informers.NewSharedInformerFactory(client, 0)
	s := &Server{pods: following.Core().V1().Pods().Lister(), usage: map[string]map[string]string{},
		values: map[string]string{}}
	following.Start(ctx.Done())
	t.Cleanup(following.Shutdown)
	following.WaitForCacheSync(ctx.Done())
	https := httptest.NewTLSServer(s)
	t.Cleanup(https.Close)
	at, err := url.Parse(https.URL)
	must(t, err)
	port, err := strconv.ParseInt(at.Port(), 10, 64)
	must(t, err)
	_, err = client.CoreV1().Services(namespace).Create(ctx,
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "metrics"},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"}}, metav1.CreateOptions{})
	must(t, err)

	d, err := dynamic.NewForConfig(config)
	must(t, err)
	for _, gv := range [][2]string{{"metrics.k8s.io", "v1beta1"}, {"custom.metrics.k8s.io", "v1beta2"},
		{"external.metrics.k8s.io", "v1beta1"}} {
		name := gv[1] + "." + gv[0]
		_, err := d.Resource(apiServices).Create(ctx,
			&unstructured.Unstructured{Object: object{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
				"metadata": object{"name": name},
				"spec": object{"group": gv[0], "version": gv[1], "groupPriorityMinimum": int64(100), "versionPriority": int64(100),
					"insecureSkipTLSVerify": true,
					"service":               object{"namespace": namespace, "name": "metrics", "port": port}}}},
			metav1.CreateOptions{})
		must(t, err)
		cluster.Eventually(t, time.Minute, name+" is served", func() (bool, string) {
			b, err := client.Discovery().RESTClient().Get().AbsPath("/apis/" + gv[0] + "/" + gv[1]).DoRaw(ctx)
			if err != nil {
				return false, err.Error()
			}
			return strings.Contains(string(b), "APIResourceList"), string(b)
		})
	}
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
