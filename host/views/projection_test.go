package views

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
)

// A projection is shared while it is asked for, takes no more memory than its bytes, and is let go soon after.
func TestProjectionsAreKeptWhileHot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := Compile(&shapes[0])
		if err != nil {
			t.Fatal(err)
		}

		w, err := newWorld(p)
		if err != nil {
			t.Fatal(err)
		}

		e, _ := w.applyObject(pods, "x", "a", benchPod("set", 1, "Running"))
		o := *e.New
		o.Raw = append(o.Raw[:len(o.Raw):len(o.Raw)], 0xf8, 0x07, 1) // a field that the plan doesn't read
		r := p.resources[1]
		if r.resource.Resource != pods {
			t.Fatalf("the plan reads %s", r.resource.ID())
		}

		project := func() *byte {
			t.Helper()
			raw, err := r.hot.project(r, &o)
			if err != nil {
				t.Fatal(err)
			}
			if len(raw) != len(o.Raw)-3 {
				t.Fatalf("%d bytes of %d are left", len(raw), len(o.Raw))
			}
			return &raw[0]
		}

		first := project()
		for range 5 {
			time.Sleep(hotFor - time.Second)
			if project() != first {
				t.Fatal("projected anew while it was in use")
			}
		}

		time.Sleep(2 * hotFor)
		synctest.Wait()
		if r.hot.young != nil || r.hot.old != nil || r.hot.room != nil || r.hot.cooling {
			t.Fatal("still kept when nobody asks for it")
		}
		if project() == first {
			t.Fatal("the old one came back")
		}

		time.Sleep(3 * hotFor)
	})
}

// What is remembered of a key's counts must not hold on to the bytes of an object, which a key's name may be part of.
func TestTalliesHaveNamesOfTheirOwn(t *testing.T) {
	i := slices.IndexFunc(shapes, func(c abi.Controller) bool {
		return slices.ContainsFunc(c.Views, func(v abi.View) bool {
			return v.Count == 1 && v.Guard == nil && c.Views[0].Resource == claims
		})
	})
	p, w := compileWithWorld(t, shapes[i])
	w.applyObject(claims, "x", "claim-of-a-name",
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "claim-of-a-name", UID: "1"}})
	var s Snapshot
	for range 2 {
		key := abi.KeyRef{Namespace: strings.Clone("x"), Name: strings.Clone("claim-of-a-name")}
		if err := p.Snapshot(w, key, &s); err != nil {
			t.Fatal(err)
		}
		if len(p.tallies.keys) != 1 {
			t.Fatalf("%d keys have tallies", len(p.tallies.keys))
		}
		for k := range p.tallies.keys {
			if k != key || unsafe.StringData(k.Name) == unsafe.StringData(key.Name) {
				t.Fatalf("%+v is kept as it is", k)
			}
		}
	}
}

// What a key has asked for outlives the buffer that the question came in, with its path and its values.
func TestQuestionsHaveTextsOfTheirOwn(t *testing.T) {
	p, w := compileWithWorld(t, abi.Controller{Name: "c", Views: []abi.View{
		{Name: "claims", Resource: claims},
		{Name: "asked", Resource: pods, Lazy: true, Fields: []string{"metadata.labels[a.b/c]"}},
	}})
	e, _ := w.applyObject(pods, "x", "web", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "x", Name: "web", UID: "1", Labels: map[string]string{"a.b/c": "d"},
	}})

	buffer := []byte("metadata.labels[a.b/c]d")
	text := unsafe.String(&buffer[0], len(buffer))
	q, err := p.compileAsk(&abi.Ask{View: 1, Path: text[:len(text)-1], Values: []string{text[len(text)-1:]}})
	if err != nil || !q.coversObject(e.New) {
		t.Fatalf("the object isn't covered: %v", err)
	}
	clear(buffer)
	if !q.coversObject(e.New) {
		t.Error("the question is another one when its buffer is")
	}
}
