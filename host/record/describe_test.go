package record

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/test/worlds"
)

func TestDescribe(t *testing.T) {
	replicas := int32(3)
	set, err := (&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web-1"},
		Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{}}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}

	scale, err := (&autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 2}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}

	a := &abi.SyncResponse{
		Effects: []abi.Effect{
			{Kind: abi.EffectGroup, Mode: abi.Parallel, Members: []abi.Effect{{Kind: abi.EffectCreate,
				Resource: "apps/v1/replicasets", Namespace: "default", Object: set}}},
			{Kind: abi.EffectUpdate, Resource: "example.com/v1/things", Subresource: "scale", Namespace: "default", Name: "x",
				Object: scale, Version: "7"},
			{Kind: abi.EffectPatch, Resource: "v1/pods", Namespace: "default", Name: "p", Patch: abi.MergePatch,
				Object: []byte(`{"metadata":{"labels":{"a":"b"}}}`), Tolerate: abi.TolerateNotFound},
			{Kind: abi.EffectUpdate, Resource: "v1/pods", Namespace: "default", Name: "p", Object: []byte{0xff}},
			{Kind: abi.EffectEvent, Resource: "v1/pods", Name: "p",
				Event: &abi.EventData{Type: "Normal", Reason: "R", Message: "m"}},
			{Kind: 99},
		},
		RequeueAfter: 5e9, Error: "it failed", State: []byte("abc"),
		Metrics: []abi.MetricUpdate{{Value: math.NaN(), Labels: []int32{1}}, {Value: math.NaN(), From: 2, To: 4}},
	}

	const want = `effects:
- do: at once
  members:
  - do: create apps/v1/replicasets default/
    object:
      metadata:
        name: web-1
      spec:
        replicas: 3
        selector: {}
        template:
          spec: {}
      status:
        replicas: 0
- do: update example.com/v1/things/scale default/x
  object:
    spec:
      replicas: 2
    status:
      replicas: 0
  with:
  - resourceVersion 7
- do: patch v1/pods default/p
  object:
    metadata:
      labels:
        a: b
  with:
  - NotFound is fine
  - merge patch
- do: update v1/pods default/p
  object: 1 bytes, sha256:a8100ae6aa1940d0b663bb31cd466142ebbdbd5187131b92d93818987832eb89
- do: event on v1/pods p
  object:
    message: m
    reason: R
    type: Normal
- do: effect of unknown kind 99 on
error: it failed
metrics:
- syncs [1]  = the sync's seconds
- syncs []  = the seconds of performs from 2 to before 4
requeueAfter: 5s
state: '"abc"'
`
	if d := cmp.Diff(want, Describe(a, &abi.Manifest{Metrics: []abi.Metric{{Name: "syncs"}}}).YAML()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestDiff(t *testing.T) {
	if d := Diff("a\nb\n", "a\nb\n"); d != "" {
		t.Errorf("equal texts differ: %s", d)
	}
	old := "1\n2\n3\n4\n5\nreplicas: 3\n7\n8\n"
	want := " … 2 equal lines\n 3\n 4\n 5\n-replicas: 3\n+replicas: 4\n 7\n 8\n"
	if d := cmp.Diff(want, Diff(old, strings.Replace(old, "replicas: 3", "replicas: 4", 1))); d != "" {
		t.Error(d)
	}
}

// The lines that aren't added are the old text, those that aren't taken away the new one.
func TestDiffLeadsFromOneToTheOther(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range worlds.Number(2000) {
		var a, b []string
		for range random.IntN(12) {
			a = append(a, string(rune('a'+random.IntN(4))))
		}
		for range random.IntN(12) {
			b = append(b, string(rune('a'+random.IntN(4))))
		}
		var old, new []string
		for _, l := range between(a, b) {
			if l[0] != '+' {
				old = append(old, l[1:])
			}
			if l[0] != '-' {
				new = append(new, l[1:])
			}
		}
		if strings.Join(old, "") != strings.Join(a, "") || strings.Join(new, "") != strings.Join(b, "") {
			t.Fatalf("from %v to %v: %v", a, b, between(a, b))
		}
	}
}
