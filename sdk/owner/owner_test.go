package owner

import (
	"testing"

	"github.com/windlass-dev/windlass/sdk"
	batchv1 "github.com/windlass-dev/windlass/sdk/api/batch/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

func objects() (*batchv1.Job, *corev1.Pod) {
	j, p := &batchv1.Job{}, &corev1.Pod{}
	j.Namespace, j.Name, j.UID = "default", "sum", "u1"
	p.Namespace, p.Name, p.UID = "default", "sum-a", "u2"
	return j, p
}

// The patches are upstream's, byte for byte (ownerRefControllerPatch and GenerateDeleteOwnerRefStrategicMergeBytes,
// pkg/controller/controller_ref_manager.go).
func TestPatches(t *testing.T) {
	j, p := objects()
	for _, x := range []struct{ what, got, want string }{
		{"adoption", string(adoption(j, p, nil)),
			`{"metadata":{"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"sum","uid":"u1","controller":true,"blockOwnerDeletion":true}],"uid":"u2"}}`},
		{"adoption with finalizers", string(adoption(j, p, []string{"a/b", `c"d`})),
			`{"metadata":{"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"sum","uid":"u1","controller":true,"blockOwnerDeletion":true}],"uid":"u2","finalizers":["a/b","c\"d"]}}`},
		{"release", string(release(j, p, nil)),
			`{"metadata":{"uid":"u2","ownerReferences":[{"$patch":"delete","uid":"u1"}]}}`},
		{"release with a finalizer", string(release(j, p, []string{"a/b"})),
			`{"metadata":{"uid":"u2","ownerReferences":[{"$patch":"delete","uid":"u1"}],"$deleteFromPrimitiveList/finalizers":["a/b"]}}`},
	} {
		if x.got != x.want {
			t.Errorf("%s:\n%s, want\n%s", x.what, x.got, x.want)
		}
	}
}

func TestRef(t *testing.T) {
	j, _ := objects()
	r := Ref(j)
	if r.APIVersion != "batch/v1" || r.Kind != "Job" || r.Name != "sum" || r.UID != "u1" || r.Controller == nil ||
		!*r.Controller || r.BlockOwnerDeletion == nil || !*r.BlockOwnerDeletion {
		t.Errorf("%+v", r)
	}
}

func TestFailures(t *testing.T) {
	var f failures
	if err := f.combinedError(); err != nil {
		t.Errorf("none: %v", err)
	}
	f.add("", &sdk.Error{Reason: sdk.Invalid, Message: "first"})
	if err := f.combinedError(); !sdk.Failed(err, sdk.Invalid) || err.Error() != "first" {
		t.Errorf("one keeps its reason: %v", err)
	}
	f.add("second", &sdk.Error{Message: "too"})
	if err := f.combinedError(); err.Error() != "[first, second: too]" {
		t.Errorf("two: %v", err)
	}
}

func TestSetController(t *testing.T) {
	j, p := objects()
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "Thing", Name: "t", UID: "u9"},
		{Kind: "Job", Name: "sum", UID: "u1"}}
	shared := p.OwnerReferences
	for range 2 {
		if err := SetController(p, j); err != nil || len(p.OwnerReferences) != 2 || p.OwnerReferences[0].UID != "u9" ||
			!metav1.IsControlledBy(&p.ObjectMeta, &j.ObjectMeta) {
			t.Fatalf("%v, %+v", err, p.OwnerReferences)
		}
	}
	if shared[1].Controller != nil {
		t.Error("the list that others share was changed")
	}
	other, node := &batchv1.Job{}, &corev1.Node{}
	other.Namespace, other.Name, other.UID = "default", "other", "u3"
	if err := SetController(p, other); err == nil || err.Error() != "Pod default/sum-a is controlled by Job sum already" {
		t.Errorf("two controllers: %v", err)
	}
	p.OwnerReferences, other.Namespace, node.Name, node.UID = nil, "elsewhere", "n", "u4"
	if err := SetController(p, other); err == nil || p.OwnerReferences != nil {
		t.Errorf("an owner in another namespace: %v", err)
	}
	if err := SetController(p, node); err != nil {
		t.Errorf("an owner in no namespace: %v", err)
	}
}
