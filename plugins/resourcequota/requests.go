package resourcequota

import (
	"strings"

	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// resourcesOf returns one of the lists of what a container asks for. Of a resize that is under way there may be up to
// three: what the spec says, what the node has allotted, and what is in force; status is nil where the node has told
// nothing. Where the node can't do what the spec says, refused is set, and the spec doesn't count.
type resourcesOf func(k *Container, status *ContainerStatus, refused bool) corev1.ResourceList

func wantedRequests(k *Container, _ *ContainerStatus, _ bool) corev1.ResourceList {
	return k.Resources.Requests
}

func allottedRequests(k *Container, status *ContainerStatus, refused bool) corev1.ResourceList {
	switch {
	case status != nil && status.AllocatedResources != nil:
		return status.AllocatedResources
	case refused:
		return nil
	}
	return k.Resources.Requests
}

func actualRequests(k *Container, status *ContainerStatus, refused bool) corev1.ResourceList {
	if status != nil && status.Resources != nil && status.Resources.Requests != nil {
		return status.Resources.Requests
	}
	return allottedRequests(k, status, refused)
}

func wantedLimits(k *Container, _ *ContainerStatus, _ bool) corev1.ResourceList {
	return k.Resources.Limits
}

func actualLimits(k *Container, status *ContainerStatus, refused bool) corev1.ResourceList {
	switch {
	case status != nil && status.Resources != nil && status.Resources.Limits != nil:
		return status.Resources.Limits
	case refused:
		return nil
	}
	return k.Resources.Limits
}

// requests is how much of a resource the pod asks for: in a resize, the most that is said anywhere; what it asks for as
// a whole, if that counts, in place of what its containers ask for; and its overhead
// (k8s.io/component-helpers/resource, PodRequests).
func (p *Pod) requests(name corev1.ResourceName, asWhole bool) amount {
	refused := p.resizeRefused()
	most := amount{}
	if !refused {
		most = p.containers(name, wantedRequests, refused)
	}
	most = most.atLeast(p.containers(name, actualRequests, refused)).
		atLeast(p.containers(name, allottedRequests, refused))

	if asWhole && p.Spec.Resources != nil && maybeOfWholePod(name) && p.Spec.Resources.Requests.Has(name) {
		most = readAmount(p.Spec.Resources.Requests, name)
	}
	return most.plus(readAmount(p.Spec.Overhead, name))
}

// limits is how much of a resource the pod may use at most. Overhead comes on top of a limit only.
func (p *Pod) limits(name corev1.ResourceName, asWhole bool) amount {
	refused := p.resizeRefused()
	most := amount{}
	if !refused {
		most = p.containers(name, wantedLimits, refused)
	}
	most = most.atLeast(p.containers(name, actualLimits, refused))

	if asWhole && p.Spec.Resources != nil && maybeOfWholePod(name) && p.Spec.Resources.Limits.Has(name) {
		most = readAmount(p.Spec.Resources.Limits, name)
	}
	if most.there && !most.IsZero() {
		most = most.plus(readAmount(p.Spec.Overhead, name))
	}
	return most
}

// containers is how much of a resource the pod's containers need at a time: all that run along with each other, or if
// that is more, an init container with the sidecars that were started before it.
func (p *Pod) containers(name corev1.ResourceName, list resourcesOf, refused bool) amount {
	var running, sidecars, starting amount
	for i := range p.Spec.Containers {
		k := &p.Spec.Containers[i]
		running = running.plus(readAmount(list(k, p.statusOf(k.Name), refused), name))
	}

	for i := range p.Spec.InitContainers {
		k := &p.Spec.InitContainers[i]
		needed := readAmount(list(k, p.statusOf(k.Name), refused), name)
		if k.RestartPolicy != nil && *k.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			running, sidecars = running.plus(needed), sidecars.plus(needed)
			needed = sidecars
		} else {
			needed = needed.plus(sidecars)
		}
		starting = starting.atLeast(needed)
	}
	return running.atLeast(starting)
}

func (p *Pod) statusOf(container string) *ContainerStatus {
	for _, statuses := range [][]ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
		for i := range statuses {
			if statuses[i].Name == container {
				return &statuses[i]
			}
		}
	}
	return nil
}

// resizeRefused reports whether the node can't give the pod what its spec has come to say.
func (p *Pod) resizeRefused() bool {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodResizePending {
			return c.Reason == corev1.PodReasonInfeasible
		}
	}
	return false
}

// maybeOfWholePod reports whether a pod as a whole may ask for the resource.
func maybeOfWholePod(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory ||
		strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}
