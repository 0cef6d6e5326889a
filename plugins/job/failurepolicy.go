package job

import (
	"slices"
	"strconv"

	batchv1 "github.com/windlass-dev/windlass/sdk/api/batch/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// policyAction returns what the failure policy says of a pod; empty: nothing.
//
//go:noinline
func (r *run) policyAction(m *member) batchv1.PodFailurePolicyAction {
	if policy := r.job.Spec.PodFailurePolicy; policy != nil {
		if i, _, _ := matchRule(policy, m.Pod); i >= 0 {
			return policy.Rules[i].Action
		}
	}
	return ""
}

// countsAgainstLimit reports whether the pod's failure counts against the backoff limit.
func (r *run) countsAgainstLimit(m *member) bool {
	return r.policyAction(m) != batchv1.PodFailurePolicyActionIgnore
}

// failJob is why a failed pod fails the whole job; empty: none does.
func (r *run) failJob() string {
	policy := r.job.Spec.PodFailurePolicy
	if policy == nil {
		return ""
	}
	for _, m := range r.pods {
		if !m.failed {
			continue
		}
		i, container, condition := matchRule(policy, m.Pod)
		if i < 0 || policy.Rules[i].Action != batchv1.PodFailurePolicyActionFailJob {
			continue
		}
		name, rule := m.Namespace+"/"+m.Name, " matching FailJob rule at index "+strconv.Itoa(i)
		if container != nil {
			return "Container " + container.Name + " for pod " + name + " failed with exit code " +
				strconv.Itoa(int(container.State.Terminated.ExitCode)) + rule
		}
		return "Pod " + name + " has condition " + string(condition.Type) + rule
	}
	return ""
}

// matchRule finds the first rule that takes in the pod, and what of the pod it goes by; -1: there is none.
func matchRule(policy *batchv1.PodFailurePolicy, p *corev1.Pod) (rule int, container *corev1.ContainerStatus,
	condition *corev1.PodCondition) {
	for i := range policy.Rules {
		x := &policy.Rules[i]
		if x.OnExitCodes != nil {
			if container = matchExitCodes(p.Status.ContainerStatuses, x.OnExitCodes); container == nil {
				container = matchExitCodes(p.Status.InitContainerStatuses, x.OnExitCodes)
			}
		} else {
			condition = matchConditions(p.Status.Conditions, x.OnPodConditions)
		}
		if container != nil || condition != nil {
			return i, container, condition
		}
	}
	return -1, nil, nil
}

// matchExitCodes finds a container that has failed with an exit code as required.
func matchExitCodes(containers []corev1.ContainerStatus,
	want *batchv1.PodFailurePolicyOnExitCodesRequirement) *corev1.ContainerStatus {
	for i := range containers {
		c := &containers[i]
		end := c.State.Terminated
		if end == nil || end.ExitCode == 0 || want.ContainerName != nil && *want.ContainerName != c.Name {
			continue
		}
		in := slices.Contains(want.Values, end.ExitCode)
		if in && want.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn ||
			!in && want.Operator == batchv1.PodFailurePolicyOnExitCodesOpNotIn {
			return c
		}
	}
	return nil
}

func matchConditions(conditions []corev1.PodCondition,
	patterns []batchv1.PodFailurePolicyOnPodConditionsPattern) *corev1.PodCondition {
	for i := range conditions {
		c := &conditions[i]
		for k := range patterns {
			if patterns[k].Type == c.Type && patterns[k].Status == c.Status {
				return c
			}
		}
	}
	return nil
}
