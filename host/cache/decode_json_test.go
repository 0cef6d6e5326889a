package cache

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

var webApps = abi.Resource{Group: "example.com", Version: "v1", Name: "webapps"}

// jsonDecoder reads WebApps for a reader of some paths.
func jsonDecoder(t testing.TB, kind string, paths ...string) *decoder {
	t.Helper()
	r := schema.Custom(webApps, kind, true)
	mask, err := r.Message.Mask(paths...)
	if err != nil {
		t.Fatal(err)
	}
	var s *selection
	d, err := newDecoder(r, s.withReader(mask, nil))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func webApp(name, version string, replicas int) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"WebApp","metadata":{"name":%q,"namespace":"ns","resourceVersion":%q,"uid":"u-%s","labels":{"l":"%s"}},"spec":{"image":"i","replicas":%d},"status":{"ready":1}}`,
		name, version, name, version, replicas)
}

func TestCustomResourcesAreReadAsJSON(t *testing.T) {
	d := jsonDecoder(t, "WebApp", "spec.replicas")
	if d.mediaType() != jsonType || jsonDecoder(t, "WebApp", "metadata.labels").mediaType() != protobufType {
		t.Error("whole objects are asked for as JSON, metadata as protobuf")
	}
	o, _, err := d.Decode([]byte(webApp("a", "5", 3)), nil, nil)
	if err != nil {
		t.Fatal(err)
	}

	a := o.(*Object)
	if a.Namespace != "ns" || a.Name != "a" || a.UID != "u-a" || a.ResourceVersion != "5" ||
		!strings.HasSuffix(string(a.Raw), `{"spec":{"replicas":3}}`) || strings.Contains(string(a.Raw), "labels") {
		t.Errorf("%+v, %q", a, a.Raw)
	}
	l := &List{}
	if _, _, err := d.Decode([]byte(
		`{"kind":"AppsOfTheWeb","apiVersion":"example.com/v1","metadata":{"resourceVersion":"9","continue":"more"},"items":[`+
			webApp("a", "5", 3)+","+webApp("b", "6", 1)+`]}`), nil, l); err != nil {
		t.Fatal(err)
	}

	if l.ResourceVersion != "9" || l.Continue != "more" || len(l.Items) != 2 || l.Items[1].Name != "b" {
		t.Errorf("%+v", l)
	}
	b, _, err := d.Decode([]byte(`{"apiVersion":"example.com/v1","kind":"WebApp","metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"creationTimestamp":null,"resourceVersion":"12"},"spec":{}}`), nil, nil)
	if err != nil || b.(*Object).ResourceVersion != "12" ||
		b.(*Object).GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
		t.Errorf("a bookmark: %+v %v", b, err)
	}

	const gone = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}`
	for _, into := range []*List{nil, {}} {
		var s any
		if into == nil {
			s, _, err = d.Decode([]byte(gone), nil, nil)
		} else {
			s, _, err = d.Decode([]byte(gone), nil, into)
		}
		if status, ok := s.(*metav1.Status); err != nil || !ok || status.Code != 410 {
			t.Errorf("a status: %+v %v", s, err)
		}
	}

	if _, _, err := jsonDecoder(t, "", "spec").Decode([]byte(webApp("a", "5", 3)), nil, nil); err != nil {
		t.Errorf("of a kind that isn't known: %v", err)
	}
}

func TestJSONThatIsSomethingElseIsRefused(t *testing.T) {
	d := jsonDecoder(t, "WebApp", "spec.replicas")
	for _, text := range []string{``, `no json`, `{}`, `[]`, `{"kind":"WebApp"`,
		`{"apiVersion":"example.com/v2","kind":"WebApp","metadata":{"name":"a"}}`,
		`{"apiVersion":"example.com/v1","kind":"Other","metadata":{"name":"a"}}`} {
		if o, _, err := d.Decode([]byte(text), nil, nil); err == nil && o.(*Object).Name != "" {
			t.Errorf("%q became %+v", text, o)
		}
		if _, _, err := d.Decode([]byte(text), nil, &List{}); err == nil {
			t.Errorf("%q is a list", text)
		} else if !strings.Contains(err.Error(), webApps.String()) {
			t.Errorf("%v doesn't say of which resource", err)
		}
	}
	if _, _, err := d.Decode([]byte(`{"items":[{"metadata":{}}]}`), nil, &List{}); err == nil {
		t.Error("an item without a name")
	}
}

func TestJSONEvents(t *testing.T) {
	var e metav1.WatchEvent
	if _, _, err := (jsonEvents{}).Decode([]byte(`{"type":"MODIFIED","object":{"a":[1]}}`+"\n"), nil, &e); err != nil ||
		e.Type != "MODIFIED" || string(e.Object.Raw) != `{"a":[1]}` {
		t.Errorf("%+v %v", e, err)
	}
	if _, _, err := (jsonEvents{}).Decode([]byte(`{"type":`), nil, &e); err == nil {
		t.Error("a torn event")
	}
}

// An update that changes nothing that anybody reads costs the event and a copy of the object's names: the bytes are
// shared with what is stored.
func TestIrrelevantUpdatesOfCustomResourcesAllocateLittle(t *testing.T) {
	d := jsonDecoder(t, "WebApp", "spec.replicas")
	first, _, err := d.Decode([]byte(webApp("a", "5", 3)), nil, nil)
	if err != nil {
		t.Fatal(err)
	}

	d.known = func(namespace, name string) *Object { return first.(*Object) }
	event := []byte(`{"type":"MODIFIED","object":` + webApp("a", "6", 3) + "}\n")
	var e metav1.WatchEvent
	var last *Object
	n := testing.AllocsPerRun(200, func() {
		if _, _, err := (jsonEvents{}).Decode(event, nil, &e); err != nil {
			t.Fatal(err)
		}
		o, _, err := d.Decode(e.Object.Raw, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		last = o.(*Object)
	})

	if !slices.Equal(last.Raw, first.(*Object).Raw) || &last.Raw[0] != &first.(*Object).Raw[0] ||
		last.ResourceVersion != "6" {
		t.Error("the bytes aren't shared")
	}
	if n > 3 {
		t.Errorf("%v allocations", n)
	}
	t.Logf("%v allocations; %d bytes in JSON, %d kept", n, len(webApp("a", "6", 3)), len(last.Raw))
}

// fullWebApp returns a WebApp of the size that such objects have: 2 kB with its managed fields.
func fullWebApp(name, version string) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"WebApp","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"example.com/v1\",\"kind\":\"WebApp\",\"spec\":{\"replicas\":3}}\n"},`+
		`"creationTimestamp":"2026-01-02T03:04:05Z","finalizers":["example.com/web"],"generation":4,"labels":{"app":"web","team":"shop"},"managedFields":[%s],"name":%q,"namespace":"shop","resourceVersion":%q,"uid":"00000000-0000-4000-8000-%012s"},`+
		`"spec":{"image":"registry.example.com/shop/web:1.2.3","replicas":3,"env":[%s],"selector":{"matchLabels":{"app":"web"}},"tiers":[{"name":"front","ports":[80,443]},{"name":"back","ports":[8080]}]},`+
		`"status":{"conditions":[{"lastTransitionTime":"2026-01-02T03:04:05Z","message":"all there","reason":"Available","status":"True","type":"Ready"}],"observedGeneration":4,"readyReplicas":3}}`,
		strings.Repeat(`{"apiVersion":"example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{".":{},"f:image":{},"f:replicas":{},"f:env":{}}},"manager":"kubectl","operation":"Update","time":"2026-01-02T03:04:05Z"},`, 2)+`{"manager":"x"}`,
		name, version, name, strings.Repeat(`{"name":"SOME_VARIABLE","value":"with a value of its own"},`, 6)+
			`{"name":"LAST"}`)
}

// BenchmarkIrrelevantJSONUpdate is an event that changes nothing that anybody reads.
func BenchmarkIrrelevantJSONUpdate(b *testing.B) {
	d := jsonDecoder(b, "WebApp", "metadata.labels", "spec.replicas", "spec.selector", "status.conditions")
	first, _, err := d.Decode([]byte(fullWebApp("1", "5")), nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	d.known = func(string, string) *Object { return first.(*Object) }
	event := []byte(`{"type":"MODIFIED","object":` + fullWebApp("1", "6") + "}\n")
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	for b.Loop() {
		var e metav1.WatchEvent
		if _, _, err := (jsonEvents{}).Decode(event, nil, &e); err != nil {
			b.Fatal(err)
		}
		if _, _, err := d.Decode(e.Object.Raw, nil, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// jsonStream serves a watch of n WebApps that ends never.
type jsonStream struct{ n int }

func (s jsonStream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	for i := range s.n {
		fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", fullWebApp(strconv.Itoa(i), strconv.Itoa(i+1)))
	}
	fmt.Fprintln(w, `{"type":"BOOKMARK","object":{"apiVersion":"example.com/v1","kind":"WebApp","metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"resourceVersion":"9000000"}}}`)
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// BenchmarkWebApps is the heap that each of 20,000 custom resources takes that came from a server, of which a
// controller reads labels, two fields of the spec and the conditions, and of which it reads everything.
func BenchmarkWebApps(b *testing.B) {
	const n = 20_000
	server := httptest.NewServer(jsonStream{n})
	defer server.Close()
	ctx, end := context.WithCancel(b.Context())
	defer end() // before the server waits for its clients

	for name, paths := range map[string][]string{"parts": {"metadata.labels", "spec.replicas", "spec.selector",
		"status.conditions"}, "whole": nil} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c, err := New(Options{Config: &rest.Config{Host: server.URL}})
				if err != nil {
					b.Fatal(err)
				}

				res := schema.Custom(webApps, "WebApp", true)
				if err := c.Learn(res); err != nil {
					b.Fatal(err)
				}

				var want Want
				if paths != nil {
					if want.Mask, err = res.Message.Mask(paths...); err != nil {
						b.Fatal(err)
					}
				}

				if _, err := c.Declare(webApps, want); err != nil {
					b.Fatal(err)
				}
				before := heapInUse()
				if err := c.Start(ctx); err != nil {
					b.Fatal(err)
				}
				if err := c.Wait(ctx, webApps); err != nil {
					b.Fatal(err)
				}
				if c.Store(webApps).Len() != n {
					b.Fatal(c.Store(webApps).Len(), "objects")
				}

				b.ReportMetric(float64(heapInUse()-before)/n, "B/object")
				b.ReportMetric(float64(c.Status()[0].Bytes)/n, "raw-B/object")
				b.ReportMetric(float64(len(fullWebApp("1", "1"))), "json-B/object")
				runtime.KeepAlive(c)
			}
		})
	}
}
