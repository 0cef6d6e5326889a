package cache_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/pprof"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/schema/testpod"
	"github.com/windlass-dev/windlass/host/views"
	"github.com/windlass-dev/windlass/plugins/builtin"
)

var pods = abi.Resource{Version: "v1", Name: "pods"}

// declare has the cache keep of pods what the built-in controllers want of them, as the manager does.
func declare(b *testing.B, c *cache.Cache) {
	res, err := schema.For(pods)
	if err != nil {
		b.Fatal(err)
	}
	for _, x := range builtin.Controllers() {
		plan, err := views.Compile(&x.Manifest)
		if err != nil {
			b.Fatal(err)
		}
		for _, n := range plan.Needs() {
			if n.Resource != pods && n.Resource != schema.Any {
				continue
			}
			mask, err := n.Mask(res)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := c.Declare(pods, cache.Want{Mask: mask, Filter: n.Filter, Indexers: n.Indexers}); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// stream serves a watch of n pods that ends never.
type stream struct{ n int }

func (s stream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf;stream=watch")
	send := func(kind string, pod *corev1.Pod) {
		raw, err := pod.Marshal()
		if err == nil {
			u := k8sruntime.Unknown{TypeMeta: k8sruntime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: raw}
			raw, err = u.Marshal()
		}
		if err == nil {
			e := metav1.WatchEvent{Type: kind, Object: k8sruntime.RawExtension{Raw: append([]byte("k8s\x00"), raw...)}}
			raw, err = e.Marshal()
		}
		_, failed := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(raw))), raw...))
		if err = errors.Join(err, failed); err != nil && r.Context().Err() == nil {
			panic(err)
		}
	}
	for i := range s.n {
		send("ADDED", testpod.New(i))
	}
	send("BOOKMARK", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9000000",
		Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}})
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// BenchmarkPods is the heap that each of 20,000 pods takes that came from a server, with the fields and indexes that
// the built-in controllers declare.
func BenchmarkPods(b *testing.B) {
	const n = 20_000
	server := httptest.NewServer(stream{n})
	defer server.Close()
	ctx, end := context.WithCancel(b.Context())
	defer end() // before the server waits for its clients

	for b.Loop() {
		c, err := cache.New(cache.Options{Config: &rest.Config{Host: server.URL}})
		if err != nil {
			b.Fatal(err)
		}

		declare(b, c)
		before := liveMemory()
		if err := c.Start(ctx); err != nil {
			b.Fatal(err)
		}
		if err := c.Wait(ctx, pods); err != nil {
			b.Fatal(err)
		}
		if c.Store(pods).Len() != n {
			b.Fatal(c.Store(pods).Len(), "pods")
		}

		after := liveMemory()
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/object")
		b.ReportMetric(float64(after.HeapObjects-before.HeapObjects)/n, "objects/object")
		b.ReportMetric(float64(c.Status()[0].Bytes)/n, "raw-B/object")

		if to := os.Getenv("HEAP"); to != "" {
			f, _ := os.Create(to)
			pprof.WriteHeapProfile(f)
			f.Close()
		}
		runtime.KeepAlive(c)
	}
}

func liveMemory() (m runtime.MemStats) {
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}
