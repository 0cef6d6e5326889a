package owner

import (
	"testing"

	"github.com/windlass-dev/windlass/sdk"
	batchv1 "github.com/windlass-dev/windlass/sdk/api/batch/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

func objects() (*batchv1.Job, *corev1.Pod) {
	j, p := &batchv1.Job{}, &corev1.Pod{}
	j.Namespace, j.Name, j.UID = "default", "sum", "u1"
	p.Namespace, p.Name, p.UID = "default", "sum-a", "u2"
	return j, p
}

// The patches are upstream's, byte for byte (ownerRefControllerPatch and GenerateDeleteOwnerRefStrategicMergeBytes, pkg/controller/controller_ref_manager.go).
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
	if r.APIVersion != "batch/v1" || r.Kind != "Job" || r.Name != "sum" || r.UID != "u1" || r.Controller == nil || !*r.Controller || r.BlockOwnerDeletion == nil || !*r.BlockOwnerDeletion {
		t.Errorf("%+v", r)
	}
}

func TestFailures(t *testing.T) {
	var f failures
	if err := f.error(); err != nil {
		t.Errorf("none: %v", err)
	}
	f.add("", &sdk.Error{Reason: sdk.Invalid, Message: "first"})
	if err := f.error(); !sdk.Failed(err, sdk.Invalid) || err.Error() != "first" {
		t.Errorf("one keeps its reason: %v", err)
	}
	f.add("second", &sdk.Error{Message: "too"})
	if err := f.error(); err.Error() != "[first, second: too]" {
		t.Errorf("two: %v", err)
	}
}
