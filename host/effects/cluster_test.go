package effects

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/schema/schematest"
	"github.com/windlass-dev/windlass/host/views"
	"github.com/windlass-dev/windlass/test/cluster"
)

// world is a real cluster, a Writer in front of it, and a cache that the test moves by hand.
type world struct {
	t      *testing.T
	kube   kubernetes.Interface
	writer *Writer
	ns     string
	proxy  *faults
	stores map[string]*testStore
	sent   atomic.Int32 // requests with a body that came to the proxy
}

// control is one control plane for all tests of the package.
var control struct {
	dir     string
	once    sync.Once
	cluster *cluster.Cluster
	err     error
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "effects")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	control.dir = dir
	code := m.Run()
	if control.cluster != nil {
		if err := control.cluster.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// seenBy returns what a controller's views read.
func seenBy(t testing.TB, c *abi.Controller) func(abi.Resource) *schema.Mask {
	t.Helper()
	alone := *c
	alone.Key, alone.Writes = abi.Key{Single: true}, nil // whatever they are
	plan, err := views.Compile(&alone)
	if err != nil {
		t.Fatal(err)
	}
	return plan.Seen
}

// newWorld makes a namespace and a Writer whose manifest has the views and writes.
func newWorld(t *testing.T, c abi.Controller, change func(*Options)) *world {
	t.Helper()
	c.Name = "test-controller"
	control.once.Do(func() {
		control.cluster, control.err = cluster.Run(context.Background(), cluster.Options{Nodes: 1, Dir: control.dir})
	})
	if control.err != nil {
		t.Fatal(control.err)
	}

	config := control.cluster.RESTConfig()
	w := &world{t: t, kube: kubernetes.NewForConfigOrDie(config), stores: map[string]*testStore{}}
	ns, err := w.kube.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "effects-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}

	w.ns = ns.Name
	w.proxy = newFaults(t, config)
	c.Name = "test-controller"
	o := Options{
		Plugin: "test", Controller: &c, Config: &rest.Config{Host: w.proxy.URL, UserAgent: "effects-test/v1"}, Reader: config,
		Seen: seenBy(t, &c),
		Stores: func(r abi.Resource) Store {
			if s := w.stores[r.String()]; s != nil {
				return s
			}
			return nil
		},
		Metrics: Metrics{Write: func(verb, resource, sub string, code int, _ time.Duration) { w.sent.Add(1) }},
	}
	if change != nil {
		change(&o)
	}

	if w.writer, err = New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.writer.Close)
	return w
}

func (w *world) beginSession(objects ...*cache.Object) *Session {
	return w.writer.Begin(abi.KeyRef{Namespace: w.ns, Name: "key"}, snapshot(objects))
}

// cachedObject returns an object as a cache that keeps it whole has it.
func (w *world) cachedObject(resource, name string) *cache.Object {
	w.t.Helper()
	res := schematest.Resource(w.t, resource)
	ns := w.ns
	if !res.Namespaced {
		ns = ""
	}
	raw, err := w.writer.readLive(w.t.Context(), res, ns, name)
	if err != nil || raw == nil {
		w.t.Fatalf("%s %s: %v", resource, name, err)
	}
	m, err := envelope.ReadMeta(raw)
	if err != nil {
		w.t.Fatal(err)
	}
	if raw, err = res.Message.Whole().Project(nil, raw); err != nil {
		w.t.Fatal(err)
	}
	return &cache.Object{Resource: res, Namespace: m.Namespace, Name: m.Name, UID: types.UID(m.UID),
		ResourceVersion: m.ResourceVersion, Raw: raw}
}

// decodeProjected decodes what the controller sees of an object.
func decodeProjected[T runtime.Object](w *world, o *cache.Object) T {
	w.t.Helper()
	raw, err := w.writer.seen.project(o.Resource.Resource, o.Raw)
	if err != nil {
		w.t.Fatal(err)
	}
	return schematest.Unmarshal(w.t, o.Resource, raw).(T)
}

func (w *world) requireOK(outcomes []abi.Outcome, err error) []abi.Outcome {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	for i, o := range outcomes {
		if o.Code != abi.CodeOK {
			w.t.Fatalf("effect %d: %s: %s", i, o.Reason, o.Message)
		}
	}
	return outcomes
}

type snapshot []*cache.Object

func (s snapshot) Find(r abi.Resource, namespace, name string) *cache.Object {
	for _, o := range s {
		if o.Resource.Resource == r && o.Namespace == namespace && o.Name == name {
			return o
		}
	}
	return nil
}

func (s snapshot) KeyObject() (uid string, exists bool) { return "", false }

func (s snapshot) Ask(a *abi.Ask) (abi.ViewData, error) {
	return abi.ViewData{View: a.View, Count: int64(len(s))}, nil
}

// testStore is a cache that lags as long as the test wants.
type testStore struct {
	mu      sync.Mutex
	version string
	objects map[string]*cache.Object
}

func (s *testStore) Get(namespace, name string) *cache.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[namespace+"/"+name]
}

func (s *testStore) Version() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

func (s *testStore) set(version string, objects ...*cache.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version, s.objects = version, map[string]*cache.Object{}
	for _, o := range objects {
		s.objects[o.Namespace+"/"+o.Name] = o
	}
}

// faults is a proxy before the API server that loses requests and answers.
type faults struct {
	*httptest.Server
	mu     sync.Mutex
	before int    // how many requests are lost before the server sees them
	after  int    // how many answers are lost after the server has done the request
	lost   func() // is called when an answer is lost
	status []int
	seen   []*http.Request
	bodies []string
}

func newFaults(t *testing.T, config *rest.Config) *faults {
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}

	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}

	f := &faults{}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = transport
	f.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		f.mu.Lock()
		f.seen, f.bodies = append(f.seen, r), append(f.bodies, string(body))
		before, after, status := f.before > 0, f.after > 0, 0
		if before {
			f.before--
		} else if after {
			f.after--
		}
		if len(f.status) > 0 {
			status, f.status = f.status[0], f.status[1:]
		}
		f.mu.Unlock()
		switch {
		case before:
			panic(http.ErrAbortHandler)
		case status != 0:
			rw.Header().Set("Retry-After", "0")
			http.Error(rw, "no answer from upstream", status)
		case after:
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			if f.lost != nil {
				f.lost()
			}
			panic(http.ErrAbortHandler)
		default:
			proxy.ServeHTTP(rw, r)
		}
	}))
	t.Cleanup(f.Server.Close)
	return f
}

func (f *faults) loseRequests(before, after int, status ...int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.after, f.status, f.seen, f.bodies = before, after, status, nil, nil
}

// contentTypeOf returns the content type of the first request that created something of a resource.
func (f *faults) contentTypeOf(resource string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.seen {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/"+resource) {
			return r.Header.Get("Content-Type")
		}
	}
	return ""
}

func (f *faults) requests() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.seen)
}
