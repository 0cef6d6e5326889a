package cache

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/test/cluster"
)

var configMaps = abi.Resource{Version: "v1", Name: "configmaps"}

var schemaKind = corev1.SchemeGroupVersion.WithKind("ListOptions").GroupKind()

// recorder keeps the events that a handler is told of.
type recorder struct {
	mu     sync.Mutex
	events []Event
}

func newRecorder() *recorder { return &recorder{} }

func (r *recorder) OnEvent(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// eventsAbout returns the events on objects whose name has the prefix, in words; a question mark is for Moved.
func (r *recorder) eventsAbout(prefix string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, e := range r.events {
		word, o := "update", e.New
		switch {
		case e.Initial:
			word = "initial"
		case e.Old == nil:
			word = "add"
		case e.New == nil:
			word, o = "delete", e.Old
		}
		if e.Moved {
			word += "?"
		}
		if strings.HasPrefix(o.Name, prefix) {
			all = append(all, word+" "+o.Name)
		}
	}
	return all
}

func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	cluster.Eventually(t, time.Minute, what, func() (bool, bool) {
		ok := done()
		return ok, ok
	})
}

func pathMask(t testing.TB, r abi.Resource, paths ...string) *schema.Mask {
	t.Helper()
	s, err := schema.For(r)
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Message.Mask(paths...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// startConfigMaps starts a cache on config maps.
func startConfigMaps(t *testing.T, config *rest.Config, paths ...string) (*Cache, *recorder) {
	t.Helper()
	c, err := New(Options{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	r := newRecorder()
	if _, err := c.Declare(configMaps, Want{Mask: pathMask(t, configMaps, paths...)}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Handle(configMaps, r); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c, r
}

func waitForSync(t *testing.T, c *Cache, resources ...abi.Resource) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.Wait(ctx, resources...); err != nil {
		t.Fatal(err)
	}
}

type configMapWriter struct {
	t *testing.T
	kubernetes.Interface
}

func (w configMapWriter) create(name string, labels, data map[string]string) *corev1.ConfigMap {
	w.t.Helper()
	m, err := w.CoreV1().ConfigMaps("default").Create(w.t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Data: data}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (w configMapWriter) update(m *corev1.ConfigMap) *corev1.ConfigMap {
	w.t.Helper()
	m, err := w.CoreV1().ConfigMaps("default").Update(w.t.Context(), m, metav1.UpdateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (w configMapWriter) delete(name string) {
	w.t.Helper()
	if err := w.CoreV1().ConfigMaps("default").Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// valuesAt returns what the store keeps of an object at a path.
func valuesAt(t *testing.T, o *Object, path string) (all []string) {
	p, err := o.Resource.Message.Path(path)
	if err != nil {
		t.Error(err)
		return nil
	}

	values, err := p.Values(nil, o.Raw)
	if err != nil {
		t.Error(err)
	}
	for _, v := range values {
		all = append(all, string(v))
	}
	return all
}

// atVersion reports that the store shows the object as it was written.
func atVersion(s *Store, m *corev1.ConfigMap) func() bool {
	return func() bool {
		o := s.Get("default", m.Name)
		return o != nil && o.ResourceVersion == m.ResourceVersion
	}
}

func TestOnCluster(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	config := c.RESTConfig()
	w := configMapWriter{t, c.Client()}
	t.Run("list and watch", func(t *testing.T) { listAndWatch(t, config, w) })
	t.Run("newcomers", func(t *testing.T) { newcomers(t, config, w) })
	t.Run("widening while objects change", func(t *testing.T) { widening(t, config, w) })
	t.Run("filters", func(t *testing.T) { filtered(t, config, w) })
	t.Run("an expired version", func(t *testing.T) { expired(t, config, w) })
	t.Run("without WatchList", func(t *testing.T) { fallback(t, config, w) })
	t.Run("not allowed", func(t *testing.T) { forbidden(t, config, w) })
	t.Run("not served", func(t *testing.T) { notServed(t, config) })
}

func listAndWatch(t *testing.T, config *rest.Config, w configMapWriter) {
	w.create("lw-early", map[string]string{"a": "1"}, nil)
	c, events := startConfigMaps(t, config, "metadata.labels")
	var progress atomic.Int64
	if _, err := c.Progress(configMaps, func() { progress.Add(1) }); err != nil {
		t.Fatal(err)
	}
	store := c.Store(configMaps)
	waitForSync(t, c, configMaps)
	if !store.Synced() || store.Version() == "" || store.Get("default", "lw-early") == nil {
		t.Fatalf("version %q", store.Version())
	}
	m := w.create("lw-late", map[string]string{"a": "1"}, map[string]string{"big": strings.Repeat("x", 1000)})
	eventually(t, "the new object is there", atVersion(store, m))

	// What isn't kept changes: no event, but the version is known, and whoever waits for it is woken.
	before := progress.Load()
	m.Data["big"] = "y"
	m = w.update(m)
	eventually(t, "the new version is there", atVersion(store, m))
	eventually(t, "progress", func() bool { return progress.Load() > before })
	if store.Version() != m.ResourceVersion {
		t.Errorf("the store is at %s, not %s", store.Version(), m.ResourceVersion)
	}
	m.Labels["a"] = "2"
	m = w.update(m)
	eventually(t, "the label is there", atVersion(store, m))
	if o := store.Get("default", "lw-late"); len(o.Raw) > 200 || strings.Contains(string(o.Raw), "big") ||
		len(valuesAt(t, o, "metadata.resourceVersion")) > 0 {
		t.Errorf("%q is kept", o.Raw)
	}
	w.delete("lw-late")
	eventually(t, "the object is gone", func() bool { return store.Get("default", "lw-late") == nil })
	want := []string{"initial lw-early", "add lw-late", "update lw-late", "delete lw-late"}
	eventually(t, fmt.Sprint(want), func() bool { return len(events.eventsAbout("lw-")) >= len(want) })
	if got := events.eventsAbout("lw-"); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	status := c.Status()
	if len(status) != 1 || !status[0].Synced || status[0].Objects != store.Len() || status[0].Bytes == 0 ||
		status[0].Err != nil {
		t.Errorf("%+v", status)
	}
}

func newcomers(t *testing.T, config *rest.Config, w configMapWriter) {
	w.create("new-a", map[string]string{"a": "1"}, map[string]string{"k": "v"})
	c, first := startConfigMaps(t, config, "metadata.labels")
	waitForSync(t, c, configMaps)
	byLabel := map[string]Indexer{"a": {Reads: []string{"metadata.labels[a]"}, Values: func(o *Object) []string {
		return valuesAt(t, o, "metadata.labels[a]")
	}}}

	// One that is covered shares what is there.
	reader, err := c.Declare(configMaps, Want{Mask: pathMask(t, configMaps, "metadata.labels[a]"), Indexers: byLabel})
	if err != nil {
		t.Fatal(err)
	}

	waitForSync(t, c, configMaps)
	if got := c.Store(configMaps).ByIndex("a", "1"); !slices.ContainsFunc(got, func(o *Object) bool {
		return o.Name == "new-a"
	}) {
		t.Errorf("%d objects", len(got))
	}

	second := newRecorder()
	if _, err := c.Handle(configMaps, second); err != nil {
		t.Fatal(err)
	}

	eventually(t, "the newcomer hears of all objects", func() bool {
		return slices.Equal(second.eventsAbout("new-"), []string{"initial new-a"})
	})

	// One that isn't gets a wider store; only it hears of what was there.
	if _, err := c.Declare(configMaps, Want{Mask: pathMask(t, configMaps, "data")}); err != nil {
		t.Fatal(err)
	}
	third := newRecorder()
	if _, err := c.Handle(configMaps, third); err != nil {
		t.Fatal(err)
	}

	waitForSync(t, c, configMaps)
	o := c.Store(configMaps).Get("default", "new-a")
	if o == nil || !strings.Contains(string(o.Raw), "\x12\x01v") {
		t.Fatalf("%+v", o)
	}

	if len(c.Store(configMaps).ByIndex("a", "1")) == 0 {
		t.Error("the wider store has lost an index")
	}
	eventually(t, "the third hears of all objects", func() bool {
		return slices.Equal(third.eventsAbout("new-"), []string{"initial new-a"})
	})
	m := w.create("new-b", nil, nil)
	eventually(t, "the next event", func() bool {
		return len(first.eventsAbout("new-b")) == 1 && len(third.eventsAbout("new-b")) == 1
	})
	if got := first.eventsAbout("new-"); !slices.Equal(got, []string{"initial new-a", "add new-b"}) {
		t.Errorf("the first heard %v", got)
	}
	if !atVersion(c.Store(configMaps), m)() {
		t.Error("the event came before the store had changed")
	}
	reader.Release()
	if s := c.Status(); len(s) != 1 || !s[0].Synced {
		t.Errorf("%+v", s)
	}
}

// A handler's picture of the world, made of events alone, equals the store's, whatever informers take over in between.
func widening(t *testing.T, config *rest.Config, w configMapWriter) {
	c, _ := startConfigMaps(t, config, "metadata.labels")
	events := newRecorder()
	if _, err := c.Handle(configMaps, events); err != nil {
		t.Fatal(err)
	}

	waitForSync(t, c, configMaps)
	done := make(chan struct{})
	go func() {
		defer close(done)
		maps := w.CoreV1().ConfigMaps("default")
		for i := range 150 {
			m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("wide-%d", i),
				Labels: map[string]string{"a": "1"}}, Data: map[string]string{"k": "v"}}
			m, err := maps.Create(t.Context(), m, metav1.CreateOptions{})
			if err == nil && i%2 == 0 {
				m.Labels["a"] = "2"
				_, err = maps.Update(t.Context(), m, metav1.UpdateOptions{})
			}
			if err == nil && i%3 == 0 {
				err = maps.Delete(t.Context(), m.Name, metav1.DeleteOptions{})
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	}()

	for _, path := range []string{"data", "metadata.annotations", "immutable", "metadata.creationTimestamp"} {
		if _, err := c.Declare(configMaps, Want{Mask: pathMask(t, configMaps, path)}); err != nil {
			t.Fatal(err)
		}
		waitForSync(t, c, configMaps)
	}

	<-done
	last := w.create("wide-last", nil, nil)
	eventually(t, "all is there", atVersion(c.Store(configMaps), last))
	eventually(t, "all is told", func() bool { return len(events.eventsAbout("wide-last")) == 1 })
	labels := pathMask(t, configMaps, "metadata.labels")
	seen := map[string]string{}
	events.mu.Lock()

	for _, e := range events.events {
		if e.New == nil {
			delete(seen, e.Old.Namespace+"/"+e.Old.Name)
			continue
		}
		kept, _ := labels.Project(nil, e.New.Raw)
		seen[e.New.Namespace+"/"+e.New.Name] = string(kept)
	}

	events.mu.Unlock()
	all := c.Store(configMaps).List()
	if len(all) != len(seen) {
		t.Errorf("the events make %d objects, the store has %d", len(seen), len(all))
	}

	for _, o := range all {
		if kept, _ := labels.Project(nil, o.Raw); seen[o.Namespace+"/"+o.Name] != string(kept) {
			t.Errorf("%s: events say %q, the store %q", o.Name, seen[o.Namespace+"/"+o.Name], kept)
		}
	}
}

func forbidden(t *testing.T, config *rest.Config, w configMapWriter) {
	nobody := rest.CopyConfig(config)
	nobody.Impersonate.UserName = "nobody"
	c, events := startConfigMaps(t, nobody, "metadata.labels")
	eventually(t, "the refusal is reported", func() bool { return apierrors.IsForbidden(c.Status()[0].Err) })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := c.Wait(ctx, configMaps); err == nil || !strings.Contains(err.Error(), "waiting for v1/configmaps") ||
		!apierrors.IsForbidden(err) {
		t.Errorf("%v", err)
	}
	if _, err := w.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "nobody"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "nobody"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitForSync(t, c, configMaps)
	eventually(t, "the objects", func() bool { return len(events.eventsAbout("")) > 0 })
}

func notServed(t *testing.T, config *rest.Config) {
	c, _ := startConfigMaps(t, config, "metadata.labels")
	alpha := abi.Resource{Group: "storagemigration.k8s.io", Version: "v1alpha1", Name: "storageversionmigrations"}
	if _, err := schema.For(alpha); err != nil {
		alpha = abi.Resource{Group: "internal.apiserver.k8s.io", Version: "v1alpha1", Name: "storageversions"}
	}
	if _, err := c.Declare(alpha, Want{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the absence is reported", func() bool {
		return slices.ContainsFunc(c.Status(), func(s ResourceStatus) bool {
			return s.Resource == alpha && apierrors.IsNotFound(s.Err)
		})
	})
	waitForSync(t, c, configMaps) // the others aren't held up
}
