package discovery

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	clientdiscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/test/cluster"
)

// whole are answers that weren't "not modified".
var whole atomic.Int32

// counted makes a client whose requests are counted.
func counted(t *testing.T, config *rest.Config, patience time.Duration) (*Client, *atomic.Int32) {
	t.Helper()
	n := &atomic.Int32{}
	whole.Store(0)
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			n.Add(1)
			a, err := next.RoundTrip(r)
			if err != nil || a.StatusCode != http.StatusNotModified {
				whole.Add(1)
			}
			return a, err
		})
	})
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	c.patience = patience
	return c, n
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// What a real server serves is found, what it comes to serve is found later, and one API that is down leaves the others
// alone.
func TestOnCluster(t *testing.T) {
	config := cluster.Start(t, cluster.Options{}).RESTConfig()
	kube := kubernetes.NewForConfigOrDie(config)
	ctx := t.Context()
	post := func(path, body string) {
		t.Helper()
		if err := kube.Discovery().RESTClient().Post().AbsPath(path).SetHeader("Content-Type",
			"application/json").Body([]byte(body)).Do(ctx).Error(); err != nil {
			t.Fatal(err)
		}
	}
	c, requests := counted(t, config, time.Hour)
	for _, want := range []abi.APIResource{
		{Resource: "v1/pods", Kind: "Pod", Namespaced: true},
		{Resource: "v1/nodes", Kind: "Node"},
		// not the preferred version
		{Resource: "autoscaling/v1/horizontalpodautoscalers", Kind: "HorizontalPodAutoscaler", Namespaced: true},
		{Resource: "autoscaling/v2/horizontalpodautoscalers", Kind: "HorizontalPodAutoscaler", Namespaced: true},
		{Resource: "apiextensions.k8s.io/v1/customresourcedefinitions", Kind: "CustomResourceDefinition"},
	} {
		apiVersion := want.Resource[:strings.LastIndex(want.Resource, "/")]
		r, err := c.Kind(ctx, apiVersion, want.Kind)
		if err != nil || r.Resource != want.Resource || r.Kind != want.Kind || r.Namespaced != want.Namespaced ||
			!slices.Contains(r.Verbs, "get") {
			t.Errorf("%s %s: %+v %v", apiVersion, want.Kind, r, err)
		}
		if r, err := c.Kind(ctx, apiVersion, strings.ToLower(want.Kind)); err != nil || r.Resource != want.Resource {
			t.Errorf("%s %s in lower case: %+v %v", apiVersion, want.Kind, r, err)
		}
	}
	once := requests.Load()
	if r, err := c.Resource(ctx, abi.Resource{Version: "v1", Name: "pods"}); err != nil || r.Custom || r.Kind != "Pod" {
		t.Errorf("%+v %v", r, err)
	}
	definitions := abi.Resource{Group: "apiextensions.k8s.io", Version: "v1", Name: "customresourcedefinitions"}
	if r, err := c.Resource(ctx, definitions); err != nil || !r.Custom || r.Kind != "CustomResourceDefinition" ||
		r.Namespaced || r.Resource != definitions {
		t.Errorf("%+v %v", r, err)
	}
	// Misses within its patience cost nothing.
	var none *NoMatchError
	widgets := abi.Resource{Group: "example.com", Version: "v2", Name: "widgets"}
	for range 20 {
		if _, err := c.Kind(ctx, "example.com/v2", "Widget"); !errors.As(err, &none) || none.Reason() != "NoKindMatch" {
			t.Fatal(err)
		}
		if _, err := c.Resource(ctx, widgets); !errors.As(err, &none) ||
			!strings.Contains(err.Error(), "example.com/v2/widgets") {
			t.Fatal(err)
		}
	}
	if once != requests.Load() {
		t.Errorf("%d requests, then %d", once, requests.Load())
	}
	// What hasn't changed isn't listed again. The server may still be adding its own APIs.
	cluster.Eventually(t, time.Minute, "nothing has changed", func() (bool, any) {
		before, listed := c.lastListing(), whole.Load()
		all, err := c.All(t.Context())
		return err == nil && len(all.Resources) == len(before.preferred) && whole.Load() == listed &&
			c.lastListing().at.After(before.at), err
	})

	post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":[
{"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}},"subresources":{"status":{}}},
{"name":"v1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`)
	post("/apis/apiregistration.k8s.io/v1/apiservices", `{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v1.broken.example.org"},
"spec":{"group":"broken.example.org","version":"v1","groupPriorityMinimum":100,"versionPriority":100,"insecureSkipTLSVerify":true,"service":{"namespace":"default","name":"nowhere"}}}`)
	c.patience = 20 * time.Millisecond
	cluster.Eventually(t, time.Minute, "the new kind is found", func() (bool, any) {
		_, err := c.Kind(t.Context(), "example.com/v1", "Widget")
		return err == nil, err
	})
	if r, err := c.Resource(ctx, widgets); err != nil || !r.Custom || r.Kind != "Widget" || r.Namespaced {
		t.Errorf("%+v %v", r, err)
	}
	if r, err := c.Kind(ctx, "example.com/*", "Widget"); err != nil || r.Resource != "example.com/v2/widgets" {
		t.Errorf("%+v %v", r, err)
	}
	var all *abi.Discovery
	cluster.Eventually(t, time.Minute, "the broken API is a failure", func() (bool, any) {
		var err error
		all, err = c.All(t.Context())
		return err == nil && len(all.Failures) == 1, err
	})
	if f := all.Failures[0]; f.GroupVersion != "broken.example.org/v1" || f.Message == "" {
		t.Errorf("%+v", f)
	}
	for _, version := range []string{"v1", "*"} {
		if _, err := c.Kind(ctx, "broken.example.org/"+version, "Thing"); err == nil || errors.As(err, &none) {
			t.Errorf("a kind that may be there: %v", err)
		}
	}
	// As client-go's own function has them.
	want := map[string]bool{}
	lists, err := clientdiscovery.NewDiscoveryClientForConfigOrDie(config).ServerPreferredResourcesWithContext(ctx)
	if err != nil && !clientdiscovery.IsGroupDiscoveryFailedError(err) {
		t.Fatal(err)
	}
	for _, l := range lists {
		for _, r := range l.APIResources {
			want[fmt.Sprint(l.GroupVersion+"/"+r.Name, " ", r.Kind, " ", r.Namespaced, " ", r.Verbs)] = true
		}
	}
	for _, r := range all.Resources {
		k := fmt.Sprint(r.Resource, " ", r.Kind, " ", r.Namespaced, " ", r.Verbs)
		if !want[k] {
			t.Errorf("%s is not preferred, or is there twice", k)
		}
		delete(want, k)
	}
	if len(want) > 0 || len(all.Resources) < 50 {
		t.Errorf("of %d resources are missing: %v", len(all.Resources), want)
	}
}

// What many miss at once is asked for once, and a server that can't be reached is not one that serves nothing.
func TestMisses(t *testing.T) {
	var down atomic.Bool
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			http.Error(w, "down", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api":
			asked.Add(1)
			fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
		case "/apis":
			fmt.Fprint(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
		default:
			fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"things","kind":"Thing","namespaced":true,"verbs":["get"]},{"name":"things/status","kind":"Thing","verbs":["get"]}]}`)
		}
	}))
	defer server.Close()

	c, _ := counted(t, &rest.Config{Host: server.URL}, time.Hour)
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			r, err := c.Kind(t.Context(), "v1", []string{"Thing", "Nothing"}[i%2])
			if i%2 == 0 && (err != nil || r.Resource != "v1/things" || !r.Namespaced) {
				t.Errorf("%+v %v", r, err)
			}
			if i%2 == 1 && err == nil {
				t.Errorf("%+v", r)
			}
		})
	}

	wait.Wait()
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}

	down.Store(true)
	c.patience = 0
	var none *NoMatchError
	if _, err := c.Kind(t.Context(), "v1", "Nothing"); err == nil || errors.As(err, &none) {
		t.Errorf("a server that is down: %v", err)
	}

	if r, err := c.Kind(t.Context(), "v1", "Thing"); err != nil || r.Resource != "v1/things" {
		t.Errorf("what is known: %+v %v", r, err)
	}
	if d, err := c.All(t.Context()); err == nil {
		t.Errorf("all of a server that is down: %+v", d)
	}
}

// What a group served before it failed is still known, but not listed.
func TestFailingGroupKeepsItsKinds(t *testing.T) {
	groups := []*metav1.APIGroup{
		{Name: "a.example.com", Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "a.example.com/v1",
			Version: "v1"}}, PreferredVersion: metav1.GroupVersionForDiscovery{Version: "v1"}},
		{Name: "b.example.com", Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "b.example.com/v1",
			Version: "v1"}}, PreferredVersion: metav1.GroupVersionForDiscovery{Version: "v1"}},
	}

	list := func(group, name, kind string) *metav1.APIResourceList {
		return &metav1.APIResourceList{GroupVersion: group + ".example.com/v1",
			APIResources: []metav1.APIResource{{Name: name, Kind: kind}}}
	}

	before := newListing(time.Now(), groups, []*metav1.APIResourceList{list("a", "as", "A"), list("b", "bs", "B")}, nil)
	after := newListing(time.Now(), groups, []*metav1.APIResourceList{list("a", "others", "Other")},
		&clientdiscovery.ErrGroupDiscoveryFailed{
			Groups: map[apischema.GroupVersion]error{{Group: "b.example.com", Version: "v1"}: errors.New("down")},
		})

	after.keepUnlisted(before)
	for k, want := range map[gvk]string{
		{"a.example.com/v1", "A"}: "", {"a.example.com/*", "A"}: "", {"a.example.com/v1", "Other"}: "a.example.com/v1/others",
		{"b.example.com/v1", "B"}: "b.example.com/v1/bs", {"b.example.com/*", "B"}: "b.example.com/v1/bs",
	} {
		if got := after.kinds[k].Resource; got != want {
			t.Errorf("%v: %q, want %q", k, got, want)
		}
	}

	d := after.pluginListing()
	if len(d.Resources) != 1 || d.Resources[0].Resource != "a.example.com/v1/others" || len(d.Failures) != 1 ||
		d.Failures[0] != (abi.DiscoveryFailure{GroupVersion: "b.example.com/v1", Message: "down"}) {
		t.Errorf("%+v", d)
	}
}
