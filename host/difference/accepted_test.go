package difference

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/windlass-dev/windlass/host/schema/schematest"
)

// After a write of one subresource the guest's copy still differs in the other.
func TestWhatASubresourceAccepts(t *testing.T) {
	answer := encodeHybrid(t, `{"spec":{"a":1},"status":{"ready":1},"other":1}`)
	sent := encodeHybrid(t, `{"spec":{"a":2},"status":{"ready":2},"new":true}`)
	for subresource, want := range map[string]string{
		"":       `{"spec":{"a":2},"new":true,"status":{"ready":1}}`,
		"status": `{"status":{"ready":2},"spec":{"a":1},"other":1}`,
		"scale":  `{"spec":{"a":1},"status":{"ready":1},"other":1}`,
	} {
		got, err := Accepted(webApps, answer, sent, subresource)
		if err != nil || bodyText(t, got) != want {
			t.Errorf("%q: %s %v", subresource, bodyText(t, got), err)
		}
	}
}

// So it does where the type is built in.
func TestWhatASubresourceAcceptsOfABuiltinType(t *testing.T) {
	res := schematest.Resource(t, "apps/v1/deployments")
	deployment := func(generation int64, replicas int32) []byte {
		d := &appsv1.Deployment{}
		d.Generation, d.Status.Replicas = generation, replicas
		return schematest.Marshal(t, d)
	}
	for subresource, want := range map[string][2]int{"": {2, 1}, "status": {1, 2}, "scale": {1, 1}} {
		got, err := Accepted(res, deployment(1, 1), deployment(2, 2), subresource)
		if err != nil {
			t.Fatal(err)
		}
		d := schematest.Unmarshal(t, res, got).(*appsv1.Deployment)
		if d.Generation != int64(want[0]) || d.Status.Replicas != int32(want[1]) {
			t.Errorf("%q: generation %d, %d replicas, want %v", subresource, d.Generation, d.Status.Replicas, want)
		}
	}
	if _, err := Accepted(res, deployment(1, 1), []byte{0x0a, 9}, ""); err == nil {
		t.Error("what can't be read was taken")
	}
}

// Two objects are equal by what they mean.
func TestEqual(t *testing.T) {
	res := schematest.Resource(t, "apps/v1/deployments")
	a, b := &appsv1.Deployment{}, &appsv1.Deployment{}
	a.Labels, b.Labels = map[string]string{"a": "1", "b": "2"}, map[string]string{"b": "2", "a": "1"}
	leaner := dropZeros(t, res.Message, schematest.Marshal(t, b))
	if same, err := Equal(res.Message, schematest.Marshal(t, a), leaner); err != nil || !same {
		t.Errorf("the same object differs: %v", err)
	}
	b.Status.Replicas = 1
	if same, err := Equal(res.Message, schematest.Marshal(t, a), schematest.Marshal(t, b)); err != nil || same {
		t.Errorf("another number of replicas is no difference: %v", err)
	}
}
