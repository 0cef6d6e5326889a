// Package metrics asks the three metrics APIs, which other API servers serve.
package metrics

import (
	"strconv"
	"strings"
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/sdk/resource"
)

const customGroup = "custom.metrics.k8s.io"

var (
	pods     = resource.MetadataOf("metrics.k8s.io", "v1beta1", "pods")
	custom   = resource.MetadataOf(customGroup, "v1beta2", "*")
	custom1  = resource.MetadataOf(customGroup, "v1beta1", "*")
	external = resource.MetadataOf("external.metrics.k8s.io", "v1beta1", "*")
)

// Rights are what a controller has to declare that asks for metrics.
var Rights = sdk.Writes{pods.Verbs("list"), custom.Verbs("get", "list"), custom1.Verbs("get", "list"),
	external.Verbs("get", "list")}

// Pods asks what the containers of the pods use that a selector takes in.
func Pods(c *sdk.Call, namespace, selector string) ([]PodMetrics, error) {
	var l podMetricsList
	err := readMetrics(c, pods, "/namespaces/"+escapeQuery(namespace)+"/pods"+encodeQuery("labelSelector", selector),
		"pods."+pods.Group,
		unsafe.Pointer(&l), &podMetricsListTable)
	return l.Items, err
}

// OfPods asks for a metric of each of the pods that a selector takes in.
func OfPods(c *sdk.Call, namespace, selector, metric, metricSelector string) ([]MetricValue, error) {
	return readCustom(c, "/namespaces/"+escapeQuery(namespace)+"/pods/*/"+escapeQuery(metric)+
		encodeQuery("labelSelector", selector, "metricLabelSelector", metricSelector), "pods", "*")
}

// OfObject asks for a metric of one object; its resource is named with its group, as in deployments.apps.
func OfObject(c *sdk.Call, namespace, resource, name, metric, metricSelector string) (*MetricValue, error) {
	return exactlyOne(readCustom(c, "/namespaces/"+escapeQuery(namespace)+"/"+escapeQuery(resource)+"/"+escapeQuery(name)+
		"/"+escapeQuery(metric)+
		encodeQuery("metricLabelSelector", metricSelector), resource, name))
}

// OfNamespace asks for a metric of a namespace.
func OfNamespace(c *sdk.Call, namespace, metric, metricSelector string) (*MetricValue, error) {
	return exactlyOne(readCustom(c, "/namespaces/"+escapeQuery(namespace)+"/metrics/"+escapeQuery(metric)+
		encodeQuery("metricLabelSelector", metricSelector), "metrics", metric))
}

// External asks for all series of a metric that belongs to no object, as far as a selector takes them in.
func External(c *sdk.Call, namespace, metric, selector string) ([]MetricValue, error) {
	var l metricValueList
	err := readMetrics(c, external, "/namespaces/"+escapeQuery(namespace)+"/"+
		escapeQuery(metric)+encodeQuery("labelSelector", selector),
		metric+"."+external.Group, unsafe.Pointer(&l), &metricValueListTable)
	return l.Items, err
}

func exactlyOne(l []MetricValue, err error) (*MetricValue, error) {
	if err != nil {
		return nil, err
	}
	if len(l) != 1 {
		return nil, sdk.Errors("the custom metrics API server returned ", strconv.Itoa(len(l)),
			" results when we asked for exactly one")
	}
	return &l[0], nil
}

// readCustom asks the newer version of the API and, where that knows nothing of the path, the older one: many servers
// have but one of them.
func readCustom(c *sdk.Call, path, resource, name string) ([]MetricValue, error) {
	var l metricValueList
	of := resource + "." + customGroup + " " + name
	err := readMetrics(c, custom, path, of, unsafe.Pointer(&l), &metricValueListTable)
	if !sdk.Failed(err, sdk.NotFound) {
		return l.Items, err
	}
	older := readMetrics(c, custom1, path, of, unsafe.Pointer(&l), &metricValueListTable)
	switch {
	case older == nil || unserved(err) && !unserved(older):
		return l.Items, older
	case unserved(err):
		return nil, sdk.Errors("no custom metrics API (" + customGroup + ") registered")
	}
	return nil, err
}

// unserved reports whether an API server knows nothing of a path, as against a metrics server that knows nothing of a
// metric.
func unserved(err error) bool {
	return sdk.Failed(err, sdk.NotFound) && strings.HasPrefix(err.Error(), notFound)
}

func readMetrics(c *sdk.Call, r resource.Of[resource.Metadata], path, of string, into unsafe.Pointer,
	t *wire.Type) error {
	b, err := c.Read(r.ABI(), "/apis/"+r.Group+"/"+r.Version+path)
	if e, ok := err.(*sdk.Error); ok && isBareMessage(e.Message) {
		return &sdk.Error{Reason: e.Reason, Message: e.Message + " (get " + of + ")"}
	}
	if err != nil {
		return err
	}
	return wire.UnmarshalJSON(b, into, t)
}

// isBareMessage reports whether the message is what client-go says where a server doesn't say anything: upstream's
// messages name the resource behind it, and people look for them.
func isBareMessage(message string) bool {
	switch message {
	case notFound, "the server is currently unable to handle the request",
		"the server was unable to return a response in the time allotted, but may still be processing the request":
		return true
	}
	return strings.HasPrefix(message, "an error on the server (") &&
		strings.HasSuffix(message, ") has prevented the request from succeeding")
}

const notFound = "the server could not find the requested resource"

// encodeQuery makes a query of names and values, without those that are empty.
func encodeQuery(pairs ...string) string {
	q, mark := "", "?"
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q += mark + pairs[i] + "=" + escapeQuery(pairs[i+1])
			mark = "&"
		}
	}
	return q
}

// escapeQuery writes a text so that it can be one segment of a path, or one value of a query.
func escapeQuery(s string) string {
	const hex = "0123456789ABCDEF"
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' ||
			c == '~':
			b = append(b, c)
		default:
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}
