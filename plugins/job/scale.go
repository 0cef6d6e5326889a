package job

import (
	"slices"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	batchv1 "github.com/windlass-dev/windlass/sdk/api/batch/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/pod"
)

// burst is how many pods one sync creates or deletes at most; their own events bring the next sync.
const burst = 500

// managePods deletes the pods that are too many, else creates those that are missing.
func (r *run) managePods() (action string, err error) {
	if r.suspended() {
		return podsDelete, r.deletePods(members(r.active), true)
	}
	want := r.wantedPods()
	if victims := r.victims(int(r.running - want)); len(victims) > 0 {
		return podsDelete, r.deletePods(victims[:min(len(victims), burst)], true)
	}
	missing := want - r.running
	if r.replacesFailed() {
		missing -= r.ending
	}
	if missing <= 0 {
		return tracking, nil
	}
	return podsCreate, r.createPods(min(int(missing), burst))
}

// wantedPods returns how many pods should run: no more than there are successes missing, and as many as there are once
// one has succeeded where one is enough.
func (r *run) wantedPods() int32 {
	most := orDefault(r.job.Spec.Parallelism, 1)
	switch n := r.job.Spec.Completions; {
	case n != nil:
		return max(0, min(*n-r.succeeded, most))
	case r.succeeded > 0:
		return r.running
	}
	return most
}

// createPods makes n pods, unless the last failures are too recent.
func (r *run) createPods(n int) error {
	var indexes []int
	wait := time.Duration(0)
	if !r.perIndex() {
		wait = r.record.remainingBackoff(r.c.Now())
	}

	if wait == 0 && r.indexed() {
		indexes, wait = r.ripeIndexes(r.pending(n))
		n = len(indexes)
	}
	if wait > 0 {
		return r.c.After(max(wait, batch))
	}
	if n == 0 {
		return nil
	}

	template := r.template()
	created := make([]*corev1.Pod, n)
	for i := range created {
		created[i] = pod.New(r.job, template)
		if r.indexed() {
			r.assignIndex(created[i], indexes[i])
		}
	}

	made, refused, err := pod.CreateCounted(r.c, r.job, created)
	countCreated(r, made, refused)
	r.running += int32(made)
	return err
}

// template is the job's, with the finalizer that keeps a pod until it is counted.
func (r *run) template() *corev1.PodTemplateSpec {
	t := r.job.Spec.Template // a copy; what it leads to is the job's
	t.Finalizers = slices.Clip(t.Finalizers)
	t.AddFinalizer(batchv1.JobTrackingFinalizer)
	if r.indexed() {
		t.Spec.InitContainers, t.Spec.Containers = withIndex(t.Spec.InitContainers), withIndex(t.Spec.Containers)
	}
	return &t
}

// victims are the pods to delete, at least n of them: in an indexed job those that no index needs, then those that can
// best be spared.
func (r *run) victims(n int) []*corev1.Pod {
	var victims []*corev1.Pod
	rest := members(r.active)
	if r.indexed() {
		victims, rest = r.superfluous()
	}
	if n > len(victims) {
		if n -= len(victims); n < len(rest) {
			pod.Rank(rest, nil, metav1.Time{})
		}
		victims = append(victims, rest[:min(n, len(rest))]...)
	}
	return victims
}

// deletePods deletes active pods now. Those that the job won't count lose its finalizer before; the others keep it
// until they are in the status.
func (r *run) deletePods(pods []*corev1.Pod, uncounted bool) error {
	if len(pods) == 0 {
		return nil
	}
	effects := make([]sdk.Effect, len(pods))
	for i, p := range pods {
		effects[i] = sdk.Delete(p, goneIsFine)
		if uncounted && r.isTracked(p) {
			effects[i] = sdk.Sequence(release(p), effects[i])
		}
	}

	outcomes, err := r.performAll(effects)
	for i := range outcomes {
		o, p := &outcomes[i], pods[i]
		if len(o.Members) == 2 {
			if o.Members[0].Code != abi.CodeOK {
				continue // the finalizer is still there, and nothing was deleted
			}
			o = &o.Members[1]
		}

		if pod.Ready(p) {
			r.ready-- // whether it could be deleted or not, as upstream counts
		}
		if o.Code != abi.CodeOK {
			r.recordWarning(pod.FailedDelete, "Error deleting: "+o.Message)
			continue
		}
		r.running--
		r.ending++
		if o.Reason == "" { // else it was gone
			r.recordNormal(pod.SuccessfulDelete, "Deleted pod: "+p.Name)
		}
	}

	return err
}

// performAll performs effects at once. There is an outcome for each, and the first failure.
//
//go:noinline
func (r *run) performAll(effects []sdk.Effect) ([]abi.Outcome, error) {
	outcomes, err := r.c.DoAll(sdk.Parallel(effects...))
	if len(outcomes) == 0 {
		return nil, err
	}
	return outcomes[0].Members, err
}

var goneIsFine = sdk.Tolerate(abi.TolerateNotFound)

// isTracked is [member.tracked] of an active pod.
func (r *run) isTracked(p *corev1.Pod) bool {
	return p.HasFinalizer(batchv1.JobTrackingFinalizer) || !metav1.IsControlledBy(&p.ObjectMeta, &r.job.ObjectMeta)
}

// release removes the job's finalizer from a pod. Not under the pod's version: the kubelet writes its status all the
// time.
func release(p *corev1.Pod) sdk.Effect {
	e := sdk.Patch(p, abi.StrategicPatch,
		[]byte(`{"metadata":{"$deleteFromPrimitiveList/finalizers":["`+batchv1.JobTrackingFinalizer+`"]}}`), goneIsFine)
	e.Precondition = abi.PreconditionUID
	return e
}
