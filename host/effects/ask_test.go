package effects

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/grant"
)

// A read's path lies below what the manifest names, however it is written. One with a name in it that can be in no path
// leads nowhere, and isn't asked for.
func TestReadPaths(t *testing.T) {
	const fine, nowhere, refused = "fine", "nowhere", "refused"
	pods := abi.Resource{Group: "metrics.k8s.io", Version: "v1beta1", Name: "pods"}
	any := abi.Resource{Group: "custom.metrics.k8s.io", Version: "v1beta2", Name: "*"}
	spaces := abi.Resource{Group: "apps", Version: "v1", Name: "namespaces"}
	for _, c := range []struct {
		resource abi.Resource
		path     string
		want     string
	}{
		{pods, "/apis/metrics.k8s.io/v1beta1/pods", fine},
		{pods, "/apis/metrics.k8s.io/v1beta1/pods/p", fine},
		{pods, "/apis/metrics.k8s.io/v1beta1/namespaces/n/pods?labelSelector=app%3Dx%2Fy", fine},
		{pods, "/apis/metrics.k8s.io/v1beta1/namespaces/n/pods/p", fine},
		{pods, "/apis/metrics.k8s.io/v1beta1/namespaces/n/%70ods", fine},
		{podsR, "/api/v1/namespaces/n/pods/p", fine},
		{any, "/apis/custom.metrics.k8s.io/v1beta2/namespaces/n/pods/*/requests", fine},
		{any, "/apis/custom.metrics.k8s.io/v1beta2/namespaces/n/metrics/a%7Cb", fine},
		{spaces, "/apis/apps/v1/namespaces/n", fine},

		{pods, "/apis/metrics.k8s.io/v1beta1/nodes", refused},
		{pods, "/apis/metrics.k8s.io/v1beta1/namespaces/n/nodes", refused},
		{pods, "/apis/metrics.k8s.io/v1beta1/namespaces/n/pods/p/log", refused},
		{pods, "/apis/metrics.k8s.io/v1beta1/namespaces/pods", refused},
		{pods, "/apis/metrics.k8s.io/v1beta1", refused},
		{pods, "/apis/metrics.k8s.io/v1beta1/", refused},
		{pods, "/apis/metrics.k8s.io/v1beta1/pods/", refused},
		{pods, "/apis/metrics.k8s.io/v1beta2/pods", refused},
		{pods, "/apis/apps/v1/pods", refused},
		{pods, "/api/v1/pods", refused},
		{pods, "/apis/metrics.k8s.io/v1beta1/../../apps/v1/pods", refused},
		{pods, "/apis/metrics.k8s.io/v1beta1/pods/..", nowhere},
		{pods, "/apis/metrics.k8s.io/v1beta1/pods/.", nowhere},
		{pods, "/apis/metrics.k8s.io/v1beta1/pods/%2e%2e", nowhere},
		{pods, "/apis/metrics.k8s.io/v1beta1/pods/%252e%252e", nowhere},
		{pods, "/apis/metrics.k8s.io/v1beta1/pods/a%2fb", nowhere},
		{pods, "/apis/metrics.k8s.io/v1beta1/pods/a\\b", refused},
		{pods, "/apis/metrics.k8s.io/v1beta1/pods/a%zz", refused},
		{pods, "/apis/metrics.k8s.io/v1beta1/pods/a\nb", refused},
		{pods, "/apis/metrics.k8s.io/v1beta1/pods/a%00b", fine},
		{pods, "/apis/metrics.k8s.io/v1beta1/pods/a%5C%3F%23b", fine},
		{pods, "/apis/metrics.k8s.io/v1beta1//pods", refused},
		{pods, "//apis/metrics.k8s.io/v1beta1/pods", refused},
		{pods, "apis/metrics.k8s.io/v1beta1/pods", refused},
		{pods, "https://elsewhere/apis/metrics.k8s.io/v1beta1/pods", refused},
		{pods, "/apis/metrics.k8s.io/v1beta1/pods#x", refused},
		{pods, "/apis/metrics.k8s.io/v1beta1/pods?watch=true", refused},
		{pods, "/apis/metrics.k8s.io/v1beta1/pods?a=%zz", refused},
		{pods, "", refused},
		{any, "/apis/custom.metrics.k8s.io/v1beta1/namespaces/n/pods/*/requests", refused},
		{any, "/apis/custom.metrics.k8s.io/v1beta2/watch/pods", refused},
		{abi.Resource{Version: "v1", Name: "*"}, "/api/v1/nodes/n/proxy/logs", refused},
		{spaces, "/apis/apps/v1/namespaces/n/secrets", refused},
		{podsR, "/api/v1/namespaces/n/pods/p/proxy", refused},
	} {
		p, err := parsePath(c.path)
		if err == nil {
			err = p.checkWithin(c.resource)
		}
		got := fine
		switch {
		case err != nil:
			got = refused
		case p.nothing:
			got = nowhere
		}
		if got != c.want {
			t.Errorf("%s for %s is %s, want %s: %v", c.path, c.resource, got, c.want, err)
		}
	}
}

// Only what the manifest and the operator both give can be read; the right to all resources gives no path.
func TestReadRights(t *testing.T) {
	metrics := abi.Resource{Group: "metrics.k8s.io", Version: "v1beta1", Name: "pods"}
	for _, c := range []struct {
		name   string
		writes []abi.Write
		grant  string
		fine   bool
	}{
		{"get", []abi.Write{{Resource: metrics, Verbs: []string{"get"}}}, "get list", true},
		{"list", []abi.Write{{Resource: metrics, Verbs: []string{"list"}}}, "get list", true},
		{"not granted", []abi.Write{{Resource: metrics, Verbs: []string{"list"}}}, "get", false},
		{"patch", []abi.Write{{Resource: metrics, Verbs: []string{"patch"}}}, "get list patch", false},
		{"subresource", []abi.Write{{Resource: metrics, Subresource: "x", Verbs: []string{"get"}}}, "get list", false},
		{"all resources", []abi.Write{{Resource: abi.Resource{Name: "*"}, Verbs: []string{"get", "list"}}}, "get list",
			false},
		{"in another namespace", []abi.Write{{Resource: metrics, Verbs: []string{"get"}, Namespaces: []string{"n"}}},
			"get list", false},
		{"of some names", []abi.Write{{Resource: metrics, Verbs: []string{"get"}, Names: []string{"n"}}}, "get list", false},
		{"none", nil, "get list", false},
	} {
		controller := &abi.Controller{Name: "c", Writes: c.writes}
		w := &Writer{lasting: &lasting{}, Options: Options{Controller: controller,
			Grant: granted(t, grant.Rule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: strings.Fields(c.grant)})},
			rights: rightsOf(controller)}

		err := w.Begin(abi.KeyRef{Name: "k"}, nil).Check([]abi.Effect{{Kind: abi.EffectRead, Resource: metrics.String(),
			Path: "/apis/metrics.k8s.io/v1beta1/pods"}})
		if (err == nil) != c.fine || err != nil && !errors.Is(err, errNotAllowed) &&
			!strings.Contains(err.Error(), "hasn't granted it") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Reads answer in JSON what the server has at the path.
func TestOnClusterRead(t *testing.T) {
	w := newWorld(t, abi.Controller{Writes: []abi.Write{
		{Resource: deployments, Verbs: []string{"list"}},
		{Resource: abi.Resource{Group: "apps", Version: "v1", Name: "*"}, Verbs: []string{"get"}},
		{Resource: abi.Resource{Group: "metrics.k8s.io", Version: "v1beta1", Name: "pods"}, Verbs: []string{"list"}},
	}}, nil)

	w.deployment()
	s := w.beginSession()
	read := func(resource, path string) abi.Effect {
		return abi.Effect{Kind: abi.EffectRead, Resource: resource, Path: path}
	}
	o := w.requireOK(s.Perform(t.Context(), []abi.Effect{
		read("apps/v1/deployments", "/apis/apps/v1/namespaces/"+w.ns+"/deployments?fieldSelector=metadata.name%3Dd"),
		read("apps/v1/deployments", "/apis/apps/v1/namespaces/"+w.ns+"/deployments?fieldSelector=metadata.name%3Dother"),
		read("apps/v1/*", "/apis/apps/v1/namespaces/"+w.ns+"/deployments/d/scale"),
	}))

	var list appsv1.DeploymentList
	if err := json.Unmarshal(o[0].Object.Data, &list); err != nil || len(list.Items) != 1 ||
		list.Items[0].Spec.Template.Spec.Containers[0].Image != "i" {
		t.Errorf("%v: %s", err, o[0].Object.Data)
	}

	if err := json.Unmarshal(o[1].Object.Data, &list); err != nil || len(list.Items) != 0 {
		t.Errorf("another name: %v: %s", err, o[1].Object.Data)
	}
	if !bytes.Contains(o[2].Object.Data, []byte(`"kind":"Scale"`)) {
		t.Errorf("scale: %s", o[2].Object.Data)
	}

	out, _ := s.Perform(t.Context(), []abi.Effect{
		{Kind: abi.EffectGroup, Mode: abi.Independent, Members: []abi.Effect{
			read("apps/v1/*", "/apis/apps/v1/namespaces/"+w.ns+"/deployments/none"),
			read("metrics.k8s.io/v1beta1/pods", "/apis/metrics.k8s.io/v1beta1/pods"),
		}}})
	for i, m := range out[0].Members {
		if m.Code != abi.CodeFailed || m.Reason != string(metav1.StatusReasonNotFound) {
			t.Errorf("%d: %+v", i, m)
		}
	}
	if s.Writes() > 0 {
		t.Error("reads count as writes")
	}
}

// An answer without end is an error, not the end of the host.
func TestReadBound(t *testing.T) {
	body := func(n int) io.ReadCloser { return io.NopCloser(io.LimitReader(endless{}, int64(n))) }
	bounded := (&Session{w: &Writer{}}).bounded
	if b, err := bounded(body(readMax), nil); err != nil || len(b) != readMax {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if b, err := bounded(body(readMax+1), nil); err == nil {
		t.Errorf("%d bytes were taken", len(b))
	}
	if _, err := bounded(nil, apierrors.NewUnauthorized("x")); !apierrors.IsUnauthorized(err) {
		t.Error(err)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

// Facts are seen by all keys of a namespace until their key takes them back or is gone.
func TestFacts(t *testing.T) {
	controller := &abi.Controller{Name: "c"}
	w := &Writer{lasting: &lasting{}, Options: Options{Controller: controller}}
	do := func(key abi.KeyRef, e abi.Effect) []abi.Fact {
		t.Helper()
		out, err := w.Begin(key, nil).Perform(t.Context(), []abi.Effect{e})
		if err != nil || out[0].Code != abi.CodeOK {
			t.Fatal(err, out)
		}
		return out[0].Facts
	}

	a, b, elsewhere := abi.KeyRef{Namespace: "n", Name: "a"}, abi.KeyRef{Namespace: "n", Name: "b"},
		abi.KeyRef{Namespace: "m", Name: "a"}
	publish := func(key abi.KeyRef, data string, terms ...string) {
		t.Helper()
		buffer := []byte(data) // a guest's memory, used again after the call
		do(key, abi.Effect{Kind: abi.EffectPublish, Object: buffer, Terms: terms})
		clear(buffer)
	}

	under := func(terms []string, want ...string) {
		t.Helper()
		var got []string
		for _, f := range do(a, abi.Effect{Kind: abi.EffectFacts, Namespace: "n", Terms: terms}) {
			got = append(got, f.Key.Namespace+"/"+f.Key.Name+"="+string(f.Data))
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("facts under %q: %v, want %v", terms, got, want)
		}
	}

	check := func(want ...string) { t.Helper(); under(nil, want...) }
	check()
	publish(b, "1")
	publish(a, "2")
	publish(elsewhere, "3")
	check("n/a=2", "n/b=1")
	publish(b, "4")
	check("n/a=2", "n/b=4")
	publish(a, "")
	check("n/b=4")
	publish(a, "5", "x", "y", "x")

	under([]string{"x", "y"}, "n/a=5", "n/b=4") // which has no term and is always found
	under([]string{"", "z"}, "n/b=4")
	publish(a, "5", "z")
	under([]string{"x"}, "n/b=4")
	under([]string{"z"}, "n/a=5", "n/b=4")
	publish(b, "4", "x")
	under([]string{"z"}, "n/a=5")
	check("n/a=5", "n/b=4")
	publish(a, "")
	w.Forget(b)
	check()
	if len(w.facts.of) != 1 {
		t.Errorf("namespaces without facts are kept: %v", w.facts.of)
	}

	for what, e := range map[string]abi.Effect{
		"a fact that is too large":   {Kind: abi.EffectPublish, Object: make([]byte, abi.FactMax+1)},
		"a fact with too many terms": {Kind: abi.EffectPublish, Object: []byte("1"), Terms: make([]string, abi.FactMax)},
	} {
		o, err := w.Begin(a, nil).Perform(t.Context(), []abi.Effect{e})
		if err != nil || o[0].Reason != "LimitExceeded" || !strings.Contains(o[0].Message, "a fact with its terms of ") {
			t.Errorf("%s: %+v, %v", what, o, err)
		}
	}
	check()
}

// A zone's period is asked for without any right; a zone that isn't known fails, as does one that no database could
// have, and what names none is refused.
func TestZones(t *testing.T) {
	w := &Writer{lasting: &lasting{}, Options: Options{Controller: &abi.Controller{Name: "c"}}}
	ask := func(zone *abi.Zone) ([]abi.Outcome, error) {
		return w.Begin(abi.KeyRef{Name: "k"}, nil).Perform(t.Context(), []abi.Effect{{Kind: abi.EffectZone, Zone: zone}})
	}

	out, err := ask(&abi.Zone{Name: "Europe/Rome", At: 1_464_134_400})
	if want := (abi.ZonePeriod{Offset: 7200, Begin: 1_459_040_400, End: 1_477_789_200}); err != nil ||
		out[0].Code != abi.CodeOK || *out[0].Zone != want {
		t.Errorf("got %+v, %v", out, err)
	}

	out, err = ask(&abi.Zone{Name: "bad timezone"})
	if err != nil || out[0].Code != abi.CodeFailed || out[0].Reason != "UnknownTimeZone" ||
		out[0].Message != "unknown time zone bad timezone" {
		t.Errorf("got %+v, %v", out, err)
	}

	out, err = ask(&abi.Zone{Name: strings.Repeat("x", partMax+1)})
	if want := "the name of a time zone of 1025 bytes, the limit is 1024"; err != nil || out[0].Message != want {
		t.Errorf("a name that no database could have: %+v, %v", out, err)
	}
	if _, err := ask(nil); !Refused(err) {
		t.Errorf("no name: %v", err)
	}
}
