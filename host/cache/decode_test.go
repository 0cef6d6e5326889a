package cache

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/schema/testpod"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

var pods = abi.Resource{Version: "v1", Name: "pods"}

func podMask(t testing.TB, paths ...string) *schema.Mask {
	t.Helper()
	r, err := schema.For(pods)
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.Message.Mask(paths...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func podDecoder(t testing.TB, paths ...string) *decoder {
	t.Helper()
	r, err := schema.For(pods)
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDecoder(r, &selection{every: podMask(t, paths...)})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// encode returns what an API server sends.
func encode(t testing.TB, o runtime.Object) []byte {
	t.Helper()
	var b bytes.Buffer
	s := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	if err := scheme.Codecs.EncoderForVersion(s, corev1.SchemeGroupVersion).Encode(o, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDecodeAnObject(t *testing.T) {
	pod := testpod.New(5)
	got, _, err := podDecoder(t, "metadata", "spec.nodeName").Decode(encode(t, pod), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := got.(*Object)
	if o.Name != pod.Name || o.Namespace != pod.Namespace || o.UID != pod.UID || o.ResourceVersion != pod.ResourceVersion {
		t.Errorf("%+v", o)
	}
	var kept corev1.Pod
	if err := kept.Unmarshal(o.Raw); err != nil {
		t.Fatal(err)
	}
	if kept.ResourceVersion != "" || kept.ManagedFields != nil || kept.Spec.NodeName != pod.Spec.NodeName ||
		kept.Labels["team"] == "" || kept.Spec.Containers != nil {
		t.Errorf("%+v", kept)
	}
}

func TestDecodeAList(t *testing.T) {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "77", Continue: "next"}}
	for i := range 3 {
		list.Items = append(list.Items, *testpod.New(i))
	}
	var got List
	if _, _, err := podDecoder(t, "spec.nodeName").Decode(encode(t, list), nil, &got); err != nil {
		t.Fatal(err)
	}
	if got.ResourceVersion != "77" || got.Continue != "next" || len(got.Items) != 3 ||
		got.Items[2].Name != list.Items[2].Name {
		t.Errorf("%+v", got)
	}
}

func TestDecodeAnErrorIsAStatus(t *testing.T) {
	gone := apierrors.NewResourceExpired("too old").ErrStatus
	for _, into := range []runtime.Object{nil, &List{}} {
		got, _, err := podDecoder(t).Decode(encode(t, &gone), nil, into)
		if err != nil {
			t.Fatal(err)
		}
		if !apierrors.IsResourceExpired(apierrors.FromObject(got)) {
			t.Errorf("%#v", got)
		}
	}
}

func TestDecodeABookmarkKeepsTheEndOfInitialEvents(t *testing.T) {
	b := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9",
		Annotations: map[string]string{"a": "b", metav1.InitialEventsAnnotationKey: "true"}}}
	got, _, err := podDecoder(t, "spec.nodeName").Decode(encode(t, b), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := got.(*Object)
	if o.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" || o.GetResourceVersion() != "9" {
		t.Errorf("%+v", o)
	}
}

func TestDecodeRefusesWhatItWasNotAskedFor(t *testing.T) {
	d := podDecoder(t, "spec")
	pod := encode(t, testpod.New(1))
	for want, data := range map[string][]byte{
		"not a v1 Pod":             encode(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}),
		"not in protobuf":          []byte(`{"kind":"Pod"}`),
		"the message is cut short": pod[:len(pod)-10],
		"is a  ":                   magic,
	} {
		if _, _, err := d.Decode(data, nil, nil); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "v1/pods") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, _, err := d.Decode(pod, nil, &List{}); err == nil {
		t.Error("a pod passed for a list")
	}
}

func TestDecodersShareNoMemory(t *testing.T) {
	d := podDecoder(t, "metadata", "spec", "status")
	var wg sync.WaitGroup
	for g := range 4 {
		data := encode(t, testpod.New(g))
		want := testpod.New(g).Name
		wg.Go(func() {
			var all []*Object
			for range 200 {
				o, _, err := d.Decode(data, nil, nil)
				if err != nil {
					t.Error(err)
					return
				}
				all = append(all, o.(*Object))
			}
			for _, o := range all {
				if o.Name != want || !bytes.Equal(o.Raw, all[0].Raw) {
					t.Errorf("%s became %s", want, o.Name)
					return
				}
			}
		})
	}
	wg.Wait()
}

func FuzzDecodingGivesWhatItsOwnBytesSayOrAnError(f *testing.F) {
	d := podDecoder(f, "metadata.labels", "spec.containers.name", "status.conditions")
	pod := encode(f, testpod.New(1))
	f.Add(pod)
	f.Add(pod[:len(pod)/2])
	f.Add(encode(f, &corev1.PodList{ListMeta: metav1.ListMeta{Continue: "x"}, Items: []corev1.Pod{*testpod.New(1)}}))
	gone := apierrors.NewResourceExpired("too old").ErrStatus
	f.Add(encode(f, &gone))

	f.Fuzz(func(t *testing.T, data []byte) {
		for _, into := range []runtime.Object{nil, &List{}} {
			got, _, err := d.Decode(data, nil, into)
			if err != nil {
				continue
			}
			all := []*Object{}
			switch x := got.(type) {
			case *Object:
				all = append(all, x)
			case *List:
				all = x.Items
			}
			for _, o := range all {
				if o.Name == "" {
					continue // a bookmark
				}
				again := &Object{Resource: o.Resource, Raw: o.Raw}
				if err := again.identify(); err != nil || again.Name != o.Name || again.UID != o.UID {
					t.Fatalf("%+v says %+v of itself (%v)", o, again, err)
				}
			}
		}
	})
}
