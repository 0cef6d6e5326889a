package horizontalpodautoscaler

import (
	"encoding/json"
	"fmt"
	"hash/crc64"
	"net/http"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/world"
)

var (
	resourceGroup = schema.GroupVersion{Group: "metrics.k8s.io", Version: "v1beta1"}
	customGroup   = schema.GroupVersion{Group: "custom.metrics.k8s.io", Version: "v1beta2"}
	customGroup1  = schema.GroupVersion{Group: "custom.metrics.k8s.io", Version: "v1beta1"}
	externalGroup = schema.GroupVersion{Group: "external.metrics.k8s.io", Version: "v1beta1"}
)

// custom are the versions of the API of custom metrics that are served.
func custom(r *world.Rand) []schema.GroupVersion {
	switch r.IntN(8) {
	case 0:
		return nil
	case 1:
		return []schema.GroupVersion{customGroup1}
	case 2:
		return []schema.GroupVersion{customGroup1, customGroup}
	case 3:
		return []schema.GroupVersion{customGroup}
	}
	return []schema.GroupVersion{customGroup, customGroup1}
}

// servers are metrics servers whose answers hang on what they are asked alone: the same path and query, in any version
// of an API, has the same answer until something else happens.
func servers(r *world.Rand, custom []schema.GroupVersion) *api.Aggregated {
	a := &api.Aggregated{Groups: append([]schema.GroupVersion{}, custom...)}
	if !r.One(20) {
		a.Groups = append(a.Groups, externalGroup)
	}
	if !r.One(20) {
		a.Groups = append(a.Groups, resourceGroup)
	}

	seed := r.Uint64()
	a.Get = func(c *api.Cluster, path string, query url.Values) *api.Answer {
		p := strings.Split(strings.TrimPrefix(path, "/apis/"), "/")
		if len(p) < 5 || p[2] != "namespaces" {
			return nil
		}
		for name, values := range query {
			if len(values) == 1 && values[0] == "" {
				delete(query, name)
			}
		}
		group, p := p[0], p[3:]
		r := world.NewRand(seed ^ crc64.Checksum([]byte(group+strings.Join(p, "/")+"?"+query.Encode()),
			crc64.MakeTable(crc64.ISO)))
		if r.One(16) {
			return failure(r)
		}
		switch {
		case group == resourceGroup.Group:
			return list(group, "v1beta1", "PodMetricsList", usages(r, selected(r, c, query)))
		case group == externalGroup.Group:
			return list(group, "v1beta1", "ExternalMetricValueList", series(r, p[1]))
		case len(p) == 4 && p[2] == "*":
			return list(group, "v1beta2", "MetricValueList", ofPods(r, selected(r, c, query), p[3]))
		}
		return list(group, "v1beta2", "MetricValueList", ofObject(r, p))
	}

	if len(custom) > 0 && custom[0] == customGroup1 {
		inner := a.Get
		a.Get = func(c *api.Cluster, path string, query url.Values) *api.Answer {
			answer := inner(c, path, query)
			if answer != nil && strings.Contains(path, customGroup1.String()) {
				old := *answer
				old.Body = strings.Replace(old.Body, customGroup.String(), customGroup1.String(), 1)
				return &old
			}
			return answer
		}
	}
	return a
}

// others has the metrics be others from now on.
func others(r *world.Rand, c *api.Cluster) (string, error) {
	var custom []schema.GroupVersion
	for _, gv := range c.Aggregated.Groups {
		if gv.Group == customGroup.Group {
			custom = append(custom, gv)
		}
	}
	c.Aggregated = servers(r, custom)
	return "other metrics", nil
}

// failure is what a metrics server may say instead of metrics.
func failure(r *world.Rand) *api.Answer {
	status := func(code int, reason metav1.StatusReason, message string) *api.Answer {
		b, _ := json.Marshal(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message})
		return &api.Answer{Code: code, Body: string(b), JSON: true}
	}
	return world.Of(r,
		status(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the metric hits for pods"),
		status(http.StatusForbidden, metav1.StatusReasonForbidden, `pods.metrics.k8s.io is forbidden: User "x" cannot list`),
		status(http.StatusInternalServerError, metav1.StatusReasonInternalError, "Internal error occurred: no"),
		&api.Answer{Code: http.StatusServiceUnavailable, Body: "service unavailable\n"},
		&api.Answer{Code: http.StatusNotFound, Body: "404 page not found\n"},
		&api.Answer{Code: http.StatusGatewayTimeout, Body: "timed out\n"},
		&api.Answer{Code: http.StatusInternalServerError, Body: "out of order\n"},
		&api.Answer{Code: world.Of(r, 400, 401, 403, 429, 405, 409, 502), Body: "not so\n"},
	)
}

func list(group, version, kind string, items []any) *api.Answer {
	if items == nil {
		items = []any{}
	}
	b, err := json.Marshal(map[string]any{"kind": kind, "apiVersion": group + "/" + version, "metadata": map[string]any{},
		"items": items})
	if err != nil {
		panic(err) // maps of texts
	}
	return &api.Answer{Code: http.StatusOK, Body: string(b), JSON: true}
}

// selected are the names of pods that there are metrics of: nearly all that a selector takes in, and rarely others.
func selected(r *world.Rand, c *api.Cluster, query url.Values) (names []string) {
	selector, err := labels.Parse(query.Get("labelSelector"))
	all, e := c.List(differential.Pods)
	if err != nil || e != nil {
		return nil
	}
	for _, o := range all {
		p := o.(*corev1.Pod)
		if selector.Matches(labels.Set(p.Labels)) != r.One(8) && !ended(p) { // nothing measures one that has ended
			names = append(names, p.Name)
		}
	}
	if r.One(10) {
		names = append(names, "gone")
	}
	if len(names) > 1 && r.One(20) {
		names = append(names, names[0])
	}
	return names
}

func timestamp(r *world.Rand) string {
	return time.Now().Add(-time.Duration(r.IntN(120)) * time.Second).UTC().Format(time.RFC3339)
}

// usages are what the containers of pods use.
func usages(r *world.Rand, pods []string) (items []any) {
	busy := r.IntN(3)
	for _, name := range pods {
		var containers []any
		for _, c := range []string{"main", "side", "init"}[:world.Of(r, 0, 1, 1, 1, 1, 1, 1, 2, 2, 3)] {
			usage := map[string]any{}
			if !r.One(15) {
				usage["cpu"] = [][]string{{"0", "5m", "20m", "50m", "61234567n"}, {"90m", "100m", "105m", "110m", "111m", "140m"},
					{"200m", "1", "1500m", "3", "250m"}}[busy][r.IntN(5)]
			}
			if !r.One(15) {
				usage["memory"] = [][]string{{"0", "1Mi", "20Mi", "32Mi", "1234567"}, {"60Mi", "64Mi", "100M", "70Mi", "65537Ki"},
					{"200Mi", "1Gi", "3G", "2Gi", "1024Mi"}}[busy][r.IntN(5)]
			}
			if r.One(60) {
				usage["cpu"] = "-30m"
			}
			containers = append(containers, map[string]any{"name": c, "usage": usage})
		}
		items = append(items, map[string]any{
			"metadata": map[string]any{"name": name, "namespace": world.Namespace}, "timestamp": timestamp(r),
			"window":     world.Of(r, "30s", "1m0s", "15.5s"),
			"containers": containers,
		})
	}
	return items
}

// amount is the value of a metric, rarely one below nothing.
func amount(r *world.Rand) string {
	if r.One(30) {
		return world.Of(r, "-1", "-30", "-1500m", "-100")
	}
	return world.Of(r, "0", "1", "4", "5", "9", "10", "10500m", "11", "20", "45", "100", "1k", "250m", "1", "5", "10")
}

func value(r *world.Rand, described map[string]any, metric string) map[string]any {
	m := map[string]any{
		"metric": map[string]any{"name": metric}, "metricName": metric, "timestamp": timestamp(r), "value": amount(r),
	}
	if described != nil {
		m["describedObject"] = described
	}
	if r.One(3) {
		m["windowSeconds"] = world.Of(r, 0, 30, 60)
	}
	return m
}

func ofPods(r *world.Rand, pods []string, metric string) (items []any) {
	for _, name := range pods {
		items = append(items, value(r, map[string]any{"kind": "Pod", "apiVersion": "v1", "namespace": world.Namespace,
			"name": name}, metric))
	}
	return items
}

// ofObject is the metric of one object: one value, or as many as there must not be.
func ofObject(r *world.Rand, p []string) (items []any) {
	for range world.Of(r, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 2) {
		items = append(items, value(r, map[string]any{"kind": "Thing", "name": p[len(p)-2]}, p[len(p)-1]))
	}
	return items
}

// series are the values of a metric that is of no object.
func series(r *world.Rand, metric string) (items []any) {
	for i := range world.Of(r, 0, 1, 1, 1, 1, 2, 3) {
		items = append(items, map[string]any{
			"metricName": metric, "metricLabels": map[string]any{"n": fmt.Sprint(i)}, "timestamp": timestamp(r),
			"value": amount(r),
		})
	}
	return items
}
