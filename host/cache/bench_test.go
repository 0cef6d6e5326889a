package cache

import (
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/host/schema/testpod"
	corev1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"
)

// endpointPaths are what endpoint slices need of a pod.
var endpointPaths = []string{
	"metadata.labels", "metadata.deletionTimestamp", "metadata.ownerReferences", "spec.nodeName", "spec.hostname",
	"spec.subdomain", "spec.containers.name", "spec.containers.ports",
	"status.phase", "status.podIP", "status.podIPs", "status.conditions.type", "status.conditions.status",
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func indexByNode(b *testing.B) func(o *Object) []string {
	p, err := podDecoder(b).resource.Message.Path("spec.nodeName")
	if err != nil {
		b.Fatal(err)
	}
	return func(o *Object) []string {
		var room [1][]byte
		vs, _ := p.Values(room[:0], o.Raw)
		return []string{string(vs[0])}
	}
}

func benchIndexers(b *testing.B) *indexers {
	return indexed(b, nil, map[string]Indexer{"node": {Reads: []string{"spec.nodeName"}, Values: indexByNode(b)},
		"uid": {Reads: []string{"metadata.uid"}, Values: indexByUID}})
}

func indexByUID(o *Object) []string { return []string{string(o.UID)} }

// BenchmarkMemory reports the heap that one realistic pod takes in a store with two indexes: by node, and one of a
// value for each object.
func BenchmarkMemory(b *testing.B) {
	const n = 50_000
	report := func(b *testing.B, fill func() any) {
		for b.Loop() {
			before := heapInUse()
			store := fill()
			b.ReportMetric(float64(heapInUse()-before)/n, "B/object")
			runtime.KeepAlive(store)
		}
	}

	b.Run("typed", func(b *testing.B) {
		report(b, func() any {
			store := clientcache.NewIndexer(clientcache.MetaNamespaceKeyFunc, clientcache.Indexers{
				"node": func(o any) ([]string, error) { return []string{o.(*corev1.Pod).Spec.NodeName}, nil },
				"uid":  func(o any) ([]string, error) { return []string{string(o.(*corev1.Pod).UID)}, nil },
			})
			for i := range n {
				raw, err := testpod.New(i).Marshal()
				if err != nil {
					b.Fatal(err)
				}
				pod := &corev1.Pod{}
				if err := pod.Unmarshal(raw); err != nil {
					b.Fatal(err)
				}
				pod.ManagedFields = nil
				store.Add(pod)
			}
			return store
		})
	})

	ours := func(b *testing.B, d *decoder) {
		report(b, func() any {
			c := newContents(benchIndexers(b))
			for i := range n {
				raw, err := testpod.New(i).Marshal()
				if err != nil {
					b.Fatal(err)
				}
				o, err := d.decodeObject(raw)
				if err != nil {
					b.Fatal(err)
				}
				c.set(o)
			}
			b.ReportMetric(float64(c.bytes)/n, "raw-B/object")
			return c
		})
	}

	b.Run("projected", func(b *testing.B) { ours(b, podDecoder(b, endpointPaths...)) })
	b.Run("whole", func(b *testing.B) {
		d := podDecoder(b)
		whole, err := newDecoder(d.resource, &selection{every: d.resource.Message.Whole()})
		if err != nil {
			b.Fatal(err)
		}
		ours(b, whole)
	})
}

type counter struct {
	n, want int
	done    chan struct{}
}

func (c *counter) OnEvent(Event) {
	if c.n++; c.n == c.want {
		close(c.done)
	}
}

// BenchmarkEvent is one watch event from its bytes to the handler, in a store of 10,000 pods.
func BenchmarkEvent(b *testing.B) {
	for _, kind := range []string{"changed", "same bytes", "same bytes, two filters"} {
		b.Run(kind, func(b *testing.B) {
			d := podDecoder(b, endpointPaths...)
			if strings.HasSuffix(kind, "filters") {
				wider := podMask(b, "metadata.annotations")
				s := d.selection.withReader(wider, labelled(b, pods, "team", "a")).withReader(wider, labelled(b, pods, "team", "b"))
				var err error
				if d, err = newDecoder(d.resource, s); err != nil {
					b.Fatal(err)
				}
			}

			r := newResource(d.resource, func(*decoder) (clientcache.ListerWatcher, error) {
				return &clientcache.ListWatch{}, nil
			})
			f, err := newFeed(r, &d.selection, r.store.contents.Load())
			if err != nil {
				b.Fatal(err)
			}

			r.feed, f.synced = f, true
			f.contents.addIndexers(benchIndexers(b))
			var messages [2][]byte
			for i := range 10_000 {
				pod := testpod.New(i)
				raw, _ := pod.Marshal()
				o, err := d.decodeObject(raw)
				if err != nil {
					b.Fatal(err)
				}
				f.contents.set(o)
				if i != 0 {
					continue
				}
				messages[0] = encode(b, pod)
				pod.ResourceVersion = strconv.Itoa(2_000_000)
				if kind == "changed" {
					pod.Status.Phase = corev1.PodFailed
				}
				messages[1] = encode(b, pod)
			}

			// The handler hears of the objects that are there, too.
			want := 10_000
			if kind == "changed" {
				want += b.N
			}
			c := &counter{want: want, done: make(chan struct{})}
			defer r.addHandler(c)()
			b.ReportAllocs()
			b.ResetTimer()

			for i := range b.N {
				o, _, err := f.decoder.Decode(messages[(i+1)%2], nil, nil)
				if err != nil {
					b.Fatal(err)
				}
				if err := f.Update(o); err != nil {
					b.Fatal(err)
				}
			}

			<-c.done
		})
	}
}

// BenchmarkStore is what is asked of a store of 10,000 pods, and a put that changes no index.
func BenchmarkStore(b *testing.B) {
	f := filledFeed(b, 10_000, endpointPaths...)
	c := f.contents
	c.addIndexers(benchIndexers(b))
	pod := testpod.New(77)
	of := c.get(pod.Namespace, pod.Name)
	pod.Status.Phase = corev1.PodFailed
	versions := []*Object{received(b, f, pod), of}
	for _, x := range []struct {
		name string
		do   func(i int)
	}{
		{"get", func(int) { c.get(pod.Namespace, pod.Name) }},
		{"index, one object", func(int) { c.byIndex("uid", ValueOf(string(pod.UID))) }},
		{"index, 20 objects", func(int) { c.byIndex("node", ValueOf(pod.Spec.NodeName)) }},
		{"put", func(i int) { c.set(versions[i%2]) }},
	} {
		b.Run(x.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				x.do(i)
			}
		})
	}
}
