package job

import (
	"strconv"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	batchv1 "github.com/windlass-dev/windlass/sdk/api/batch/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/pod"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// newRequest returns the sync of a job of many pods, so many of which are there.
func newRequest(parallelism int32, have int, phase corev1.PodPhase) *abi.SyncRequest {
	most := int32(100_000)
	j := &batchv1.Job{}
	j.Namespace, j.Name, j.UID = "default", "many", "uid"
	j.Spec.Parallelism, j.Spec.Completions = &parallelism, &most
	j.Spec.Template.Labels.Set("job", "many")
	j.Spec.Selector = &metav1.LabelSelector{MatchLabels: j.Spec.Template.Labels}
	r := &abi.SyncRequest{Key: abi.KeyRef{Namespace: "default", Name: "many"}, Now: 1_800_000_000e9,
		Views: make([]abi.ViewData, 2)}
	r.Views[0].Objects = []abi.ObjectData{{Data: resource.Append(nil, j), ResourceVersion: "1"}}
	for i := range have {
		p := pod.New(j, &j.Spec.Template)
		p.Name, p.GenerateName, p.UID = "many-"+strconv.Itoa(i), "", metav1.UID("uid-"+strconv.Itoa(i))
		p.Finalizers = []string{batchv1.JobTrackingFinalizer}
		p.CreationTimestamp = metav1.Unix(1_790_000_000+int64(i), 0)
		p.Status.Phase = phase
		r.Views[1].Objects = append(r.Views[1].Objects, abi.ObjectData{Data: resource.Append(nil, p), ResourceVersion: "1"})
	}
	return r
}

// One sync creates, deletes or counts 500 pods at most.
func TestBurst(t *testing.T) {
	Plugin.Manifest() // numbers the views
	for _, x := range []struct {
		parallelism                int32
		have                       int
		phase                      corev1.PodPhase
		created, deleted, released int
	}{
		{parallelism: 700, have: 0, created: 500},
		{parallelism: 700, have: 699, phase: corev1.PodRunning, created: 1},
		{parallelism: 0, have: 700, phase: corev1.PodRunning, deleted: 500, released: 500},
		{parallelism: 10, have: 700, phase: corev1.PodSucceeded, created: 10, released: 500},
	} {
		count := map[abi.EffectKind]int{}
		var noted *batchv1.JobStatus
		a := sdk.Run(Plugin, newRequest(x.parallelism, x.have, x.phase), nil,
			func(r *abi.PerformRequest) (*abi.PerformResponse, error) {
				a := &abi.PerformResponse{}
				for i := range r.Effects {
					e := &r.Effects[i]
					if e.Kind == abi.EffectUpdate && noted == nil {
						j := &batchv1.Job{}
						if err := resource.Decode(e.Object, j); err != nil {
							t.Fatal(err)
						}
						noted = &j.Status
					}
					a.Outcomes = append(a.Outcomes, succeed(e, count))
				}
				return a, nil
			})
		if a.Error != "" || count[abi.EffectCreate] != x.created || count[abi.EffectDelete] != x.deleted ||
			count[abi.EffectPatch] != x.released {
			t.Errorf("%+v: created, deleted, released: %d, %d, %d, error %q",
				x, count[abi.EffectCreate], count[abi.EffectDelete], count[abi.EffectPatch], a.Error)
		}

		if n := len(noted.UncountedTerminatedPods.Succeeded); x.phase == corev1.PodSucceeded && n != 500 {
			t.Errorf("%+v: %d UIDs in the first status", x, n)
		}
	}
}

// succeed is the outcome of an effect that goes well.
func succeed(e *abi.Effect, count map[abi.EffectKind]int) abi.Outcome {
	count[e.Kind]++
	o := abi.Outcome{Name: e.Name, Object: abi.ObjectData{Data: e.Object, ResourceVersion: "2"}}
	for i := range e.Members {
		o.Members = append(o.Members, succeed(&e.Members[i], count))
	}
	if e.Kind == abi.EffectPatch {
		o.Object.Data = nil
	}
	return o
}
