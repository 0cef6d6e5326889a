package horizontalpodautoscaler

import (
	"strings"

	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// request is how much of a resource the pod asks for, in thousandths: what the named container asks for; or else what
// the pod asks for as a whole; or else what its containers ask for that run along with it. What it asks for as a whole
// counts where whole is set.
func (p *Pod) request(container string, name corev1.ResourceName, whole bool) (int64, error) {
	if whole && container == "" && p.asksAsWhole() {
		if milli, ok := p.wholeRequest(name); ok {
			return milli, nil
		}
		return 0, sdk.Errors("missing pod-level request for ", string(name), " in Pod ", p.Name)
	}
	sum, found := int64(0), false
	for init, list := range [][]Container{p.Spec.Containers, p.Spec.InitContainers} {
		for i := range list {
			k := &list[i]
			if container != "" && container != k.Name || init == 1 && !k.restarts() {
				continue
			}
			q, ok := k.Resources.Requests.Lookup(name)
			if !ok {
				return 0, sdk.Errors("missing request for ", string(name), " in container ", k.Name, " of Pod ", p.Name)
			}
			sum, found = sum+q.MilliValue(), true
		}
	}
	if container != "" && !found {
		return 0, sdk.Errors("container ", container, " not found in Pod ", p.Name)
	}
	return sum, nil
}

// restarts reports whether an init container runs as long as the pod does.
func (k *Container) restarts() bool {
	return k.RestartPolicy == string(corev1.ContainerRestartPolicyAlways)
}

// isPodLevelResource reports whether a pod as a whole may ask for the resource.
func isPodLevelResource(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory ||
		strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

func (p *Pod) asksAsWhole() bool {
	for i := range p.Spec.Resources.Requests {
		if isPodLevelResource(p.Spec.Resources.Requests[i].Key) {
			return true
		}
	}
	return false
}

// wholeRequest is what the pod as a whole asks for, or for a resource that it names nothing of, the most that its
// containers need at a time; with its overhead.
func (p *Pod) wholeRequest(name corev1.ResourceName) (milli int64, found bool) {
	overhead, charged := p.Spec.Overhead.Lookup(name)
	if q, ok := p.Spec.Resources.Requests.Lookup(name); ok && isPodLevelResource(name) {
		return q.MilliValue() + overhead.MilliValue(), true
	}
	var running, started, most int64
	for i := range p.Spec.Containers {
		q, ok := p.Spec.Containers[i].Resources.Requests.Lookup(name)
		running, found = running+q.MilliValue(), found || ok
	}
	for i := range p.Spec.InitContainers {
		k := &p.Spec.InitContainers[i]
		q, ok := k.Resources.Requests.Lookup(name)
		found = found || ok
		if k.restarts() {
			started += q.MilliValue()
			most = max(most, started)
		} else {
			most = max(most, started+q.MilliValue())
		}
	}
	return max(running+started, most) + overhead.MilliValue(), found || charged
}
