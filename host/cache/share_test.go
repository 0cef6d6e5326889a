package cache

import (
	"context"
	"errors"
	"testing"
	"unsafe"

	"github.com/windlass-dev/windlass/host/schema/testpod"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"
)

// filledFeed returns a feed of pods that holds the first n test pods.
func filledFeed(t testing.TB, n int, paths ...string) *feed {
	t.Helper()
	d := podDecoder(t, paths...)
	r := newResource(d.resource, func(*decoder) (clientcache.ListerWatcher, error) {
		return &clientcache.ListWatch{WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface,
			error) {
			return nil, errors.New("there is nothing to watch")
		}}, nil
	})
	f, err := newFeed(r, &d.selection, r.store.contents.Load())
	if err != nil {
		t.Fatal(err)
	}
	r.feed, f.synced = f, true
	for i := range n {
		f.Add(received(t, f, testpod.New(i)))
	}
	return f
}

func received(t testing.TB, f *feed, pod *corev1.Pod) *Object {
	t.Helper()
	o, _, err := f.decoder.Decode(encode(t, pod), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o.(*Object)
}

// An update that leaves what is kept as it is takes the memory of the object before; only its version is its own.
func TestIrrelevantUpdatesShareMemory(t *testing.T) {
	f := filledFeed(t, 3, endpointPaths...)
	pod := testpod.New(1)
	before := f.contents.get(pod.Namespace, pod.Name)
	pod.ResourceVersion = "2000000"
	pod.Status.ContainerStatuses[0].RestartCount++
	after := received(t, f, pod)
	if after == before || after.ResourceVersion != "2000000" || before.ResourceVersion == "2000000" {
		t.Fatalf("%+v after %+v", after, before)
	}

	if unsafe.SliceData(after.Raw) != unsafe.SliceData(before.Raw) ||
		unsafe.StringData(after.Name) != unsafe.StringData(before.Name) {
		t.Error("the bytes are held twice")
	}
	if err := f.Update(after); err != nil || f.contents.get(pod.Namespace, pod.Name) != after {
		t.Fatalf("not stored: %v", err)
	}

	pod.Status.Phase = corev1.PodFailed
	if changed := received(t, f, pod); string(changed.Raw) == string(after.Raw) ||
		unsafe.SliceData(changed.Raw) == unsafe.SliceData(after.Raw) {
		t.Error("what is kept has changed, the bytes haven't")
	}
	pod = testpod.New(1)
	pod.UID = "another"
	if another := received(t, f, pod); another.UID != "another" || before.UID == "another" {
		t.Errorf("an object of the same name has the UID %s, the one before %s", another.UID, before.UID)
	}
}

// It allocates a small part of what a relevant one does, whatever the pod's size.
func TestIrrelevantUpdatesAllocateLittle(t *testing.T) {
	f := filledFeed(t, 3, endpointPaths...)
	pod := testpod.New(1)
	pod.ResourceVersion = "2000000"
	irrelevant := encode(t, pod)
	pod.Status.Phase = corev1.PodFailed
	relevant := encode(t, pod)
	cost := func(message []byte) int64 {
		return testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := f.decoder.Decode(message, nil, nil); err != nil {
					b.Fatal(err)
				}
			}
		}).AllocedBytesPerOp()
	}
	if a, b := cost(irrelevant), cost(relevant); a > b/3 {
		t.Errorf("%d bytes are allocated for an update that concerns nobody, %d for one that does", a, b)
	} else {
		t.Logf("%d bytes, %d for a relevant one", a, b)
	}
}

// What comes before the store has all objects counts as told, so that reading doesn't pause: it is waited for. What
// comes after that doesn't.
func TestInitialObjectsAreNotHeldUp(t *testing.T) {
	f := filledFeed(t, 1, endpointPaths...)
	told := func() bool {
		f.resource.told.Store(0)
		received(t, f, testpod.New(0))
		return f.resource.told.Load() != 0
	}
	if !told() {
		t.Error("reading may pause before the store has all objects")
	}
	if err := f.Replace(nil, "1"); err != nil {
		t.Fatal(err)
	}
	if told() {
		t.Error("an object that changes nothing holds pauses off")
	}
	sendInitial := true
	if _, err := clientcache.ToListerWatcherWithContext(f.source).WatchWithContext(t.Context(),
		metav1.ListOptions{SendInitialEvents: &sendInitial}); err == nil {
		t.Fatal("this feed has nothing to watch")
	}
	if !told() {
		t.Error("reading may pause while a stream begins with all objects")
	}
}
