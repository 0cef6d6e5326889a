package job

import (
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/world"
)

// objects are one or two jobs with pods that are theirs, could be, were, or aren't.
func objects(r *world.Rand) []runtime.Object {
	var all []runtime.Object
	for i := range 1 + r.IntN(2) {
		j := newJob(r, fmt.Sprintf("work-%d", i))
		var pods []*corev1.Pod
		for n := range r.IntN(7) {
			pods = append(pods, pod(r, j, fmt.Sprintf("work-%d-%d", i, n)))
		}
		status(r, j, pods)
		all = append(all, j)
		for _, p := range pods {
			all = append(all, p)
		}
	}
	return all
}

func newJob(r *world.Rand, name string) *batchv1.Job {
	labels := map[string]string{"app": world.Of(r, "web", "web", "db")}
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: world.Namespace, UID: r.UID(), CreationTimestamp: r.Ago(3000),
		Generation: int64(1 + r.IntN(3)),
	}}

	s := &j.Spec
	s.ManualSelector = world.Ptr(true)
	s.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": labels["app"]}}
	s.Template = r.Template(labels)
	s.Template.Spec.RestartPolicy = world.Of(r, corev1.RestartPolicyNever, corev1.RestartPolicyNever,
		corev1.RestartPolicyOnFailure)
	s.Parallelism = world.Maybe(r, int32(r.IntN(5)))
	s.Completions = world.Maybe(r, int32(r.IntN(6)))
	s.BackoffLimit = world.Maybe(r, int32(world.Of(r, 0, 1, 3, 6)))
	if r.One(4) {
		s.ActiveDeadlineSeconds = world.Ptr(int64(world.Of(r, 1, 300, 1000, 5000)))
	}

	if r.One(6) {
		s.TTLSecondsAfterFinished = world.Ptr(int32(world.Of(r, 0, 100)))
	}
	if r.One(5) {
		s.Suspend = world.Ptr(!r.One(3))
	}

	if r.One(15) {
		s.ManagedBy = world.Ptr(world.Of(r, batchv1.JobControllerName, "kueue.x-k8s.io/multikueue",
			"example.com/other"))
	}

	if r.One(2) {
		indexed(r, j)
	} else if r.One(3) {
		s.CompletionMode = world.Ptr(batchv1.NonIndexedCompletion)
	}

	if r.One(4) {
		s.PodReplacementPolicy = world.Ptr(world.Of(r, batchv1.TerminatingOrFailed, batchv1.Failed))
	}
	if r.One(4) {
		s.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		policy(r, j)
	}

	if r.One(8) {
		j.Finalizers = []string{metav1.FinalizerOrphanDependents}
	}
	if r.One(12) {
		r.End(j)
	}
	return j
}

func indexed(r *world.Rand, j *batchv1.Job) {
	s := &j.Spec
	s.CompletionMode = world.Ptr(batchv1.IndexedCompletion)
	s.Completions = world.Ptr(int32(r.IntN(6)))
	if r.One(3) {
		s.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		s.BackoffLimitPerIndex = world.Ptr(int32(r.IntN(3)))
		if r.One(2) {
			s.MaxFailedIndexes = world.Ptr(int32(r.IntN(int(*s.Completions) + 1)))
		}
	}
	if r.One(3) {
		s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{
			SucceededIndexes: world.Of(r, nil, world.Ptr("0"), world.Ptr("0-1"), world.Ptr("1,3")),
			SucceededCount:   world.Of(r, nil, world.Ptr(int32(1)), world.Ptr(int32(2))),
		}}}
	}
}

func policy(r *world.Rand, j *batchv1.Job) {
	action := func() batchv1.PodFailurePolicyAction {
		if j.Spec.BackoffLimitPerIndex != nil && r.One(3) {
			return batchv1.PodFailurePolicyActionFailIndex
		}
		return world.Of(r, batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore,
			batchv1.PodFailurePolicyActionCount)
	}
	j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{}
	for range 1 + r.IntN(2) {
		rule := batchv1.PodFailurePolicyRule{Action: action()}
		if r.One(2) {
			rule.OnExitCodes = &batchv1.PodFailurePolicyOnExitCodesRequirement{
				ContainerName: world.Of(r, nil, world.Ptr("main")), Values: []int32{world.Of[int32](r, 1, 42)},
				Operator: world.Of(r, batchv1.PodFailurePolicyOnExitCodesOpIn,
					batchv1.PodFailurePolicyOnExitCodesOpNotIn),
			}
		} else {
			rule.OnPodConditions = []batchv1.PodFailurePolicyOnPodConditionsPattern{{
				Type: world.Of(r, corev1.DisruptionTarget, corev1.PodReady), Status: world.Of(r,
					corev1.ConditionTrue, corev1.ConditionFalse),
			}}
		}
		j.Spec.PodFailurePolicy.Rules = append(j.Spec.PodFailurePolicy.Rules, rule)
	}
}

func isIndexed(j *batchv1.Job) bool {
	return j.Spec.CompletionMode != nil && *j.Spec.CompletionMode == batchv1.IndexedCompletion
}

func pod(r *world.Rand, j *batchv1.Job, name string) *corev1.Pod {
	spec := *j.Spec.Template.Spec.DeepCopy()
	p := r.Pod(name, map[string]string{"app": j.Spec.Template.Labels["app"]}, spec)
	if r.One(12) {
		p.Labels = r.Labels("web")
	}

	switch {
	case !r.One(7):
		p.OwnerReferences = []metav1.OwnerReference{world.Owner("batch/v1", "Job", j.Name, j.UID)}
	case r.One(3):
		p.OwnerReferences = []metav1.OwnerReference{world.Owner(world.Of(r, "batch/v1", "apps/v1"), world.Of(r,
			"Job", "ReplicaSet"), j.Name, r.UID())}
	}
	if !r.One(6) {
		p.Finalizers = append(p.Finalizers, batchv1.JobTrackingFinalizer)
	}

	if isIndexed(j) && !r.One(10) || r.One(20) {
		n := strconv.Itoa(r.IntN(6))
		if r.One(20) {
			n = world.Of(r, "x", "-1", "")
		}
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[batchv1.JobCompletionIndexAnnotation], p.Labels[batchv1.JobCompletionIndexAnnotation] = n, n
		if j.Spec.BackoffLimitPerIndex != nil && !r.One(8) {
			p.Annotations[batchv1.JobIndexFailureCountAnnotation] = strconv.Itoa(r.IntN(3))
			if r.One(4) {
				p.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation] = strconv.Itoa(r.IntN(3))
			}
		}
	}
	disrupted(r, p)
	return p
}

func disrupted(r *world.Rand, p *corev1.Pod) {
	if r.One(6) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: world.Of(r, corev1.ConditionTrue, corev1.ConditionFalse),
			LastTransitionTime: r.Ago(100),
		})
	}
}

func status(r *world.Rand, j *batchv1.Job, pods []*corev1.Pod) {
	s := &j.Status
	if r.One(3) {
		return
	}

	n := func() int32 { return int32(r.IntN(4)) }
	s.Active, s.Ready, s.Terminating, s.Succeeded, s.Failed = n(), world.Maybe(r, n()), world.Maybe(r, n()),
		world.Of(r, 0, n()), world.Of(r, 0, 0, n())
	if !r.One(4) && (j.Spec.Suspend == nil || !*j.Spec.Suspend) {
		s.StartTime = world.Ptr(r.Ago(2000))
	}

	if isIndexed(j) {
		s.CompletedIndexes, s.Succeeded = completed(r, int(*j.Spec.Completions))
		s.FailedIndexes = nil
		if j.Spec.BackoffLimitPerIndex != nil {
			s.FailedIndexes = world.Of(r, nil, world.Ptr(""), world.Ptr("4"), world.Ptr("0-1"))
		}
	}

	if r.One(2) {
		s.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
		for _, p := range pods {
			switch r.IntN(6) {
			case 0:
				s.UncountedTerminatedPods.Succeeded = append(s.UncountedTerminatedPods.Succeeded, p.UID)
			case 1:
				s.UncountedTerminatedPods.Failed = append(s.UncountedTerminatedPods.Failed, p.UID)
			}
		}
		if r.One(5) {
			s.UncountedTerminatedPods.Failed = append(s.UncountedTerminatedPods.Failed, types.UID("gone"))
		}
	}

	s.Conditions = nil
	condition := func(t batchv1.JobConditionType, reason string) {
		s.Conditions = append(s.Conditions, batchv1.JobCondition{
			Type: t, Status: world.Of(r, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse),
			Reason: reason, Message: "so", LastTransitionTime: r.Ago(900), LastProbeTime: r.Ago(900),
		})
	}
	if r.One(12) {
		return // as it may be, be it refused
	}

	s.Failed = int32(r.IntN(2))
	switch r.IntN(14) {
	case 0:
		condition(batchv1.JobSuspended, "JobSuspended")
		s.StartTime = nil
	case 1:
		condition(batchv1.JobFailureTarget, batchv1.JobReasonPodFailurePolicy)
	case 2:
		condition(batchv1.JobSuccessCriteriaMet, world.Of(r, batchv1.JobReasonSuccessPolicy,
			batchv1.JobReasonCompletionsReached))
	case 3:
		condition(batchv1.JobComplete, batchv1.JobReasonCompletionsReached)
	case 4:
		condition(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded)
	}
}

// completed returns some of the indexes, as a status has them, and how many they are.
func completed(r *world.Rand, of int) (text string, n int32) {
	for i := 0; i < of; i++ {
		if !r.One(3) {
			continue
		}
		text += fmt.Sprintf(",%d", i)
		if n++; i+1 < of && r.One(3) {
			i++
			n++
			text += fmt.Sprintf(",%d", i)
		}
	}
	return strings.TrimPrefix(text, ","), n
}

// deeds are what others do to jobs and pods.
func deeds() []differential.Deed {
	ofJob := func(what string, f func(*world.Rand, *batchv1.Job)) differential.Deed {
		return differential.Vary(jobs, what, func(r *world.Rand, j *batchv1.Job) {
			f(r, j)
			j.Generation++
		})
	}

	life := differential.Vary(differential.Pods, "a change of the life", func(r *world.Rand, p *corev1.Pod) {
		r.Live(p)
		disrupted(r, p)
	})

	return []differential.Deed{
		life, life, life, life, life,
		differential.Vary(differential.Pods, "other labels", func(r *world.Rand,
			p *corev1.Pod) {
			p.Labels = r.Labels("web")
		}),
		differential.Vary(differential.Pods, "no owner", func(_ *world.Rand,
			p *corev1.Pod) {
			p.OwnerReferences = nil
		}),
		differential.Vary(differential.Pods, "no finalizers", func(_ *world.Rand,
			p *corev1.Pod) {
			p.Finalizers = nil
		}),
		differential.Delete(differential.Pods), differential.Delete(differential.Pods),
		differential.Vanish(differential.Pods),
		differential.Appear(func(r *world.Rand) runtime.Object {
			return pod(r, newJob(r, "work-0"), fmt.Sprintf("new-%d", r.IntN(9)))
		}),
		ofJob("another parallelism", func(r *world.Rand,
			j *batchv1.Job) {
			j.Spec.Parallelism = world.Ptr(int32(r.IntN(5)))
		}),
		ofJob("another size", func(r *world.Rand, j *batchv1.Job) {
			if isIndexed(j) {
				n := int32(r.IntN(6))
				j.Spec.Completions, j.Spec.Parallelism = &n, &n
			}
		}),
		ofJob("suspension", func(r *world.Rand, j *batchv1.Job) { j.Spec.Suspend = world.Ptr(r.One(2)) }),
		ofJob("another deadline", func(r *world.Rand, j *batchv1.Job) {
			j.Spec.ActiveDeadlineSeconds = world.Of(r, nil, world.Ptr(int64(300)), world.Ptr(int64(3000)))
		}),
		differential.Vary(jobs, "another status", func(r *world.Rand, j *batchv1.Job) {
			for _, c := range j.Status.Conditions {
				if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete ||
					c.Type == batchv1.JobFailed) {
					return // a job that has ended has ended: upstream remembers that
				}
			}
			status(r, j, nil)
		}),
		differential.Vary(jobs, "other annotations", func(r *world.Rand, j *batchv1.Job) {
			j.Annotations = map[string]string{"example.com/by": world.Of(r, "a", "b", "c")}
		}),
		differential.Delete(jobs),
		differential.Vanish(jobs),
		differential.Appear(func(r *world.Rand) runtime.Object {
			return newJob(r, fmt.Sprintf("work-%d",
				r.IntN(2)))
		}),
	}
}
