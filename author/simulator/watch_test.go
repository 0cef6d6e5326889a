package simulator

import (
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/windlass-dev/windlass/test/cluster"
)

// newServer returns an API server with a namespace "default", and a client of it.
func newServer(t *testing.T) (*rest.Config, kubernetes.Interface) {
	t.Helper()
	c, err := NewCluster(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	config := c.Config("test")
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return config, client
}

func newConfigMap(name string, labels map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: labels}}
}

// next returns the next event of a watch, bookmarks aside.
func next(t *testing.T, w watch.Interface) (what watch.EventType, o metav1.Object) {
	t.Helper()
	for {
		select {
		case e, open := <-w.ResultChan():
			if !open {
				t.Fatal("the watch has ended")
			}
			if e.Type == watch.Bookmark {
				continue
			}
			o, ok := e.Object.(metav1.Object)
			if !ok {
				t.Fatalf("%s %v", e.Type, e.Object)
			}
			return e.Type, o
		case <-time.After(time.Minute):
			t.Fatal("nothing has come")
		}
	}
}

func expectEvent(t *testing.T, w watch.Interface, what watch.EventType, name string) {
	t.Helper()
	if got, o := next(t, w); got != what || o.GetName() != name {
		t.Errorf("got %s %s, want %s %s", got, o.GetName(), what, name)
	}
}

func makeMap(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), newConfigMap(name, nil),
		metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

// A watch goes on from the version that it is asked for, and by a selector objects come and go.
func TestWatch(t *testing.T) {
	_, client := newServer(t)
	maps, ctx := client.CoreV1().ConfigMaps("default"), t.Context()
	apply := func(o *corev1.ConfigMap, err error) *corev1.ConfigMap {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	a := apply(maps.Create(ctx, newConfigMap("a", nil), metav1.CreateOptions{}))
	b := apply(maps.Create(ctx, newConfigMap("b", map[string]string{"on": "1"}), metav1.CreateOptions{}))

	all, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: a.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer all.Stop()
	selected, err := maps.Watch(ctx, metav1.ListOptions{LabelSelector: "on=1"})
	if err != nil {
		t.Fatal(err)
	}
	defer selected.Stop()
	named, err := maps.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=a", AllowWatchBookmarks: true})
	if err != nil {
		t.Fatal(err)
	}
	defer named.Stop()

	expectEvent(t, all, watch.Added, "b")
	expectEvent(t, selected, watch.Added, "b")
	expectEvent(t, named, watch.Added, "a")

	a.Labels = map[string]string{"on": "1"}
	apply(maps.Update(ctx, a, metav1.UpdateOptions{}))
	expectEvent(t, all, watch.Modified, "a")
	expectEvent(t, selected, watch.Added, "a")
	expectEvent(t, named, watch.Modified, "a")

	b.Labels = nil
	b = apply(maps.Update(ctx, b, metav1.UpdateOptions{}))
	expectEvent(t, all, watch.Modified, "b")
	if what, o := next(t, selected); what != watch.Deleted || o.GetResourceVersion() != b.ResourceVersion {
		t.Errorf("%s %v: an object that isn't selected any more is gone, at the version of the change", what, o)
	}

	if err := maps.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expectEvent(t, all, watch.Deleted, "a")
	expectEvent(t, selected, watch.Deleted, "a")
	expectEvent(t, named, watch.Deleted, "a")
}

// client-go's informers, in protobuf, JSON and of metadata alone, have what clients write at once, and learn of
// versions that other resources' changes have.
func TestInformers(t *testing.T) {
	config, client := newServer(t)
	maps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}

	ctx := t.Context()
	all := map[string]cache.SharedIndexInformer{
		"typed":    informers.NewSharedInformerFactory(client, 0).Core().V1().ConfigMaps().Informer(),
		"untyped":  dynamicinformer.NewDynamicSharedInformerFactory(untyped, 0).ForResource(maps).Informer(),
		"metadata": metadatainformer.NewSharedInformerFactory(bare, 0).ForResource(maps).Informer(),
	}
	const before, writers, each = 3, 4, 10
	for i := range before {
		makeMap(t, client, fmt.Sprint("before-", i))
	}
	for _, i := range all {
		go i.RunWithContext(ctx)
	}

	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				makeMap(t, client, fmt.Sprintf("map-%d-%d", w, i))
			}

			if err := client.CoreV1().ConfigMaps("default").Delete(ctx, fmt.Sprintf("map-%d-0", w),
				metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	writing.Wait()

	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
	other, err := client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := before + writers*(each-1)
	for name, i := range all {
		cluster.Eventually(t, time.Minute, name+" has all config maps, and the namespace's version", func() (bool, string) {
			n, version := len(i.GetStore().ListKeys()), i.LastSyncResourceVersion()
			return n == want && version == other.ResourceVersion, fmt.Sprintf("%d at %s", n, version)
		})
	}
}
