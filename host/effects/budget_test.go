package effects

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/budget"
	"github.com/windlass-dev/windlass/host/schema/schematest"
)

// A sync that wants more deletes than a minute has begins with as many as it has; the next one waits, and the sync is
// put off until then.
func TestDeletesBeyondTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := 0
		w := &Writer{lasting: &lasting{}, Options: Options{
			Plugin: "p", Controller: &abi.Controller{Name: "c"},
			Deletes: budget.NewDeletes(2), Metrics: Metrics{OverBudget: func() { refused++ }},
		}}
		s := w.Begin(abi.KeyRef{Name: "k"}, nil)
		if err := s.reserve(3); err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			if err := s.spendDelete(); err != nil {
				t.Errorf("delete %d: %v", i, err)
			}
		}

		var over *OverBudgetError
		err := s.spendDelete()
		if !errors.As(err, &over) || over.After != time.Minute || s.Deferred() != time.Minute || refused != 1 {
			t.Errorf("the third delete: %v, put off by %v, told %d times", err, s.Deferred(), refused)
		}
		time.Sleep(time.Minute) // virtual
		if err := s.spendDelete(); err != nil {
			t.Errorf("a minute later: %v", err)
		}
	})
}

// ownSnapshot is one whose key's object has a UID.
type ownSnapshot struct{ snapshot }

func (ownSnapshot) KeyObject() (uid string, exists bool) { return "own", true }

// What gives an object an owner that may not be there counts as a delete, for that is what comes of it; an owner that
// is no news doesn't.
func TestFalseOwnersCount(t *testing.T) {
	owned := func(uids ...types.UID) []byte {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "x"}}
		for _, uid := range uids {
			m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{UID: uid})
		}
		return schematest.Marshal(t, m)
	}
	res := schematest.Resource(t, configMaps.String())
	w := &Writer{lasting: &lasting{}, Options: Options{Plugin: "p", Controller: &abi.Controller{Name: "c"},
		Deletes: budget.NewDeletes(2)}}
	s := w.Begin(abi.KeyRef{Name: "k"}, ownSnapshot{snapshot{{Resource: res, Namespace: "shop", Name: "x",
		Raw: owned("its")}}})
	defer s.End()

	patch := func(kind abi.PatchType, text string) abi.Effect {
		return abi.Effect{Kind: abi.EffectPatch, Patch: kind, Object: []byte(text)}
	}
	for _, x := range []struct {
		what string
		e    abi.Effect
		want bool
	}{
		{"a delete", abi.Effect{Kind: abi.EffectDelete}, true},
		{"a dry run of one", abi.Effect{Kind: abi.EffectDelete, DryRun: true}, false},
		{"a create", abi.Effect{Kind: abi.EffectCreate, Object: owned()}, false},
		{"a create of its own", abi.Effect{Kind: abi.EffectCreate, Object: owned("own")}, false},
		{"a create of another's", abi.Effect{Kind: abi.EffectCreate, Object: owned("own", "none")}, true},
		{"an update", abi.Effect{Kind: abi.EffectUpdate, Object: owned("its", "own")}, false},
		{"an update with another owner", abi.Effect{Kind: abi.EffectUpdate, Object: owned("none")}, true},
		{"an update of the status", abi.Effect{Kind: abi.EffectUpdate, Subresource: "status", Object: owned("none")}, false},
		{"an apply", abi.Effect{Kind: abi.EffectApply, Object: []byte(`{"metadata":{"ownerReferences":[{"uid":"none"}]}}`)},
			true},
		{"a merge", patch(abi.MergePatch, `{"metadata":{"ownerReferences":[{"uid":"own"},{"uid":"its"}]}}`), false},
		{"a merge of another owner", patch(abi.MergePatch, `{"metadata":{"ownerReferences":[{"uid":"none"}]}}`), true},
		{"a merge that removes one", patch(abi.StrategicPatch,
			`{"metadata":{"ownerReferences":[{"$patch":"delete","uid":"its"}]}}`), false},
		{"labels", patch(abi.JSONPatch, `[{"op":"add","path":"/metadata/labels/uid","value":"none"}]`), false},
		{"a JSON patch", patch(abi.JSONPatch,
			`[{"op":"add","path":"/metadata/ownerReferences","value":[{"uid":"none"}]}]`), true},
		{"one of a UID", patch(abi.JSONPatch, `[{"op":"replace","path":"/metadata/ownerReferences/0/uid","value":"none"}]`),
			true},
		{"one of a whole object", patch(abi.JSONPatch,
			`[{"op":"add","path":"","value":{"metadata":{"ownerReferences":[{"uid":"none"}]}}}]`), true},
		{"one that copies", patch(abi.JSONPatch,
			`[{"op":"copy","from":"/data/x","path":"/metadata/ownerReferences/0/uid"}]`), true},
		{"one that removes", patch(abi.JSONPatch, `[{"op":"remove","path":"/metadata/ownerReferences/0"}]`), false},
		{"no patch at all", patch(abi.JSONPatch, `{`), true},
	} {
		x.e.Namespace, x.e.Name = "shop", "x"
		if got := s.countsAsDelete(&x.e, res); got != x.want {
			t.Errorf("%s: %v", x.what, got)
		}
	}
}
