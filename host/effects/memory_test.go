package effects

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/budget"
)

// Facts are held on the plugin's memory; one for which there is no room isn't published.
func TestFactsAreHeld(t *testing.T) {
	memory := budget.NewMemory("p", 4000, budget.NewTotal(1<<40), nil)
	f := facts{memory: memory}
	a, b := abi.KeyRef{Namespace: "n", Name: "a"}, abi.KeyRef{Namespace: "n", Name: "b"}
	publish := func(key abi.KeyRef, size, terms int, room bool) {
		t.Helper()
		var under []string
		for i := range terms {
			under = append(under, strings.Repeat("t", i+1))
		}
		err := f.publish(key, make([]byte, size), under)
		if refused := errors.As(err, new(*budget.MemoryError)); refused == room || err != nil && !refused {
			t.Errorf("%d bytes under %d terms: %v", size, terms, err)
		}
	}

	publish(a, 2000, 0, true)
	publish(b, 3000, 0, false)
	publish(b, 10, 30, false) // an index of the terms takes more
	publish(a, 3000, 0, true) // in its own one's place
	if n := len(f.inNamespace("n", nil)); n != 1 {
		t.Errorf("%d facts are there", n)
	}
	publish(a, 0, 0, true)
	if n := memory.Sum(); n != 0 {
		t.Errorf("%d bytes are held for no fact", n)
	}
	publish(a, 100, 2, true)
	publish(b, 100, 1, true)
	f.clear()
	if n := memory.Sum(); n != 0 || len(f.of) != 0 {
		t.Errorf("%d bytes are held after all facts have ended", n)
	}
}

// What a sync reads live is held on the plugin's memory to its end, and no more of an answer is read than there is room
// for.
func TestOnClusterReadsAreHeld(t *testing.T) {
	memory := budget.NewMemory("p", 1<<20, budget.NewTotal(1<<40), nil)
	c := abi.Controller{Name: "c", Writes: []abi.Write{{Resource: configMaps, Verbs: []string{"list", "get"}}}}
	w := newWorld(t, c, func(o *Options) { o.Memory = memory })
	for _, name := range []string{"a", "b", "c"} {
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name},
			Data: map[string]string{"x": strings.Repeat(name, 400_000)}}
		if _, err := w.kube.CoreV1().ConfigMaps(w.ns).Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}

	s := w.beginSession()
	get := abi.Effect{Kind: abi.EffectGet, Resource: "v1/configmaps", Namespace: w.ns, Name: "a"}
	w.requireOK(s.Perform(t.Context(), []abi.Effect{get}))
	if n := memory.Held(budget.Results); n < 400_000 || n > 500_000 {
		t.Errorf("%d bytes are held of an object of 400,000", n)
	}
	out, err := s.Perform(t.Context(), []abi.Effect{{Kind: abi.EffectList, Resource: "v1/configmaps", Namespace: w.ns}})
	if err != nil || out[0].Code != abi.CodeFailed || !strings.Contains(out[0].Message, "plugins[p].budget.memory") {
		t.Errorf("a list of 1.2 MB: %v, %+v", err, out)
	}
	if n := memory.Sum(); n > 1<<20 {
		t.Errorf("%d bytes are held of a mebibyte", n)
	}
	s.End()
	if n := memory.Sum(); n != 0 {
		t.Errorf("%d bytes are held after the sync", n)
	}
}

// An answer that would be too large isn't asked for again and again.
func TestNoRoomIsDefinite(t *testing.T) {
	if v := verdict(errors.Join(errors.New("reading"), &budget.MemoryError{})); v != definite {
		t.Errorf("%d", v)
	}
	if err := (&Session{w: &Writer{}}).hold(1 << 60); err != nil {
		t.Error(err)
	}
}
