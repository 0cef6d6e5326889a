package grant

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

var (
	pods       = abi.Resource{Version: "v1", Name: "pods"}
	nodes      = abi.Resource{Version: "v1", Name: "nodes"}
	namespaces = abi.Resource{Version: "v1", Name: "namespaces"}
	sets       = abi.Resource{Group: "apps", Version: "v1", Name: "replicasets"}
)

func TestAsk(t *testing.T) {
	web := metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	g, err := New([]Rule{
		{APIGroups: []string{""}, Resources: []string{"pods", "*/scale"}, Verbs: []string{"get", "delete"}},
		{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}, Namespaces: []string{"a"}},
		{APIGroups: []string{"apps"}, Resources: []string{"replicasets"}, Verbs: []string{"list", "watch", "update"},
			Selector: web},
	})
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		q              Request
		any, web, none bool // allowed with whatever labels, with those of the selector, without labels
	}{
		{Request{Verb: "get", Resource: pods, Namespace: "b"}, true, true, true},
		{Request{Verb: "patch", Resource: pods, Namespace: "b"}, false, false, false},
		{Request{Verb: "patch", Resource: pods, Namespace: "a"}, true, true, true},
		{Request{Verb: "get", Resource: pods, Subresource: "status", Namespace: "b"}, false, false, false},
		{Request{Verb: "get", Resource: pods, Subresource: "scale", Namespace: "b"}, true, true, true},
		{Request{Verb: "get", Resource: nodes, Name: "a"}, false, false, false},
		{Request{Verb: "get", Resource: namespaces, Name: "a"}, true, true, true},
		{Request{Verb: "get", Resource: namespaces, Name: "b"}, false, false, false},
		{Request{Verb: "update", Resource: sets, Namespace: "b"}, false, true, false},
		{Request{Verb: "update", Resource: sets, Namespace: "a"}, true, true, true},
		{Request{Verb: "list", Resource: sets}, false, true, false},
	} {
		a := g.Ask(c.q)
		if a.Allowed != c.any || a.Matches(labels.Set{"app": "web"}) != c.web || a.Matches(nil) != c.none ||
			a.Denied() == (c.web || c.none) {
			t.Errorf("%s: %+v", c.q, a)
		}
	}

	if !g.Reads(sets) || !g.Reads(schema.Any) || !g.Narrows(sets) || !g.Selects(sets) || g.Selects(pods) {
		t.Error("what is read of replica sets is wrong")
	}
	var none *Grant
	if !none.Ask(Request{}).Allowed || !none.Reads(pods) || none.Narrows(pods) || none.Selects(pods) {
		t.Error("no grant doesn't allow everything")
	}

	empty, err := New([]Rule{})
	if err != nil || empty.Reads(schema.Any) || empty.Reads(pods) ||
		!empty.Ask(Request{Verb: "get", Resource: pods}).Denied() {
		t.Error("an empty grant allows something", err)
	}
}

// Labels are read as the API's own code reads them, and bytes that aren't an object never panic.
func FuzzLabelsOfAgreesWithTheAPI(f *testing.F) {
	for _, l := range []map[string]string{nil, {"a": ""}, {"a": "b", "c/d": "e"}} {
		b, err := (&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Generation: 3, Labels: l,
			Annotations: map[string]string{"x": "y"}}}).Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := LabelsOf(b)
		var o metav1.PartialObjectMetadata
		if o.Unmarshal(b) != nil {
			return // whatever is made of it: the host takes no such object in
		}
		if err != nil {
			return // groups, which no object has
		}
		if !labels.Equals(got, o.Labels) {
			t.Errorf("%v, want %v", got, o.Labels)
		}
	})
}
