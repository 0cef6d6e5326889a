package resourcequota

import (
	"strings"
	"time"

	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	resourcev1 "github.com/windlass-dev/windlass/sdk/api/resource/v1"
)

// podRules are what the cluster's feature gates say of pods.
type podRules struct {
	// asWhole is whether what a pod asks for as a whole counts.
	asWhole bool
	// onlyIfSet is whether a pod that names nothing that it may ask for as a whole is judged by its containers.
	onlyIfSet bool
}

// podCount is what a resource of a quota counts of pods.
type podCount struct {
	what podCounts
	// of is the resource of which requests or limits are counted.
	of corev1.ResourceName
}

type podCounts int8

const (
	noPods   podCounts = iota
	allPods            // there are, ended or not
	livePods           // that take up anything
	podRequests
	podLimits
)

// podCountOf returns what a resource of a quota counts of pods; known is false where it counts something else.
// (pkg/quota/v1/evaluator/core/pods.go, MatchingResources and podComputeUsageHelper)
func podCountOf(name corev1.ResourceName) (c podCount, known bool) {
	switch name {
	case "count/pods":
		return podCount{what: allPods}, true
	case corev1.ResourcePods:
		return podCount{what: livePods}, true
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return podCount{podRequests, name}, true
	case corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceRequestsEphemeralStorage:
		return podCount{podRequests, name[len("requests."):]}, true
	case corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage:
		return podCount{podLimits, name[len("limits."):]}, true
	}

	if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
		return podCount{podRequests, name}, true
	}
	of, requested := strings.CutPrefix(string(name), corev1.DefaultResourceRequestsPrefix)
	if requested && strings.HasPrefix(of, corev1.ResourceHugePagesPrefix) {
		return podCount{podRequests, corev1.ResourceName(of)}, true
	}
	if !requested || !extended(string(name)) && !ofDeviceClass(of) {
		return podCount{}, false
	}
	if !ofDeviceClass(of) && (!extended(of) || strings.HasPrefix(of, corev1.DefaultResourceRequestsPrefix)) {
		return podCount{}, true // no pod can ask for such a resource
	}
	return podCount{podRequests, corev1.ResourceName(of)}, true
}

// extended reports whether a resource isn't one of Kubernetes' own.
func extended(name string) bool {
	return strings.Contains(name, "/") && !strings.Contains(name, corev1.ResourceDefaultNamespacePrefix)
}

// ofDeviceClass reports whether a resource stands for the devices of a class.
func ofDeviceClass(name string) bool {
	return strings.HasPrefix(name, resourcev1.ResourceDeviceClassPrefix)
}

// usage is how much the pod takes of what is counted. A pod that has ended, or should long be gone, takes nothing but
// its place among all pods.
func (p *Pod) usage(c podCount, now metav1.Time, rules podRules) amount {
	if c.what == allPods {
		return one
	}
	if p.ended() || p.overdue(now) {
		return amount{}
	}
	switch c.what {
	case livePods:
		return one
	case podRequests:
		return p.requests(c.of, rules.asWhole)
	case podLimits:
		return p.limits(c.of, rules.asWhole)
	}
	return amount{}
}

func (p *Pod) ended() bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

// overdue reports whether the pod has been deleted and the time that it was given has passed twice over: its node is
// lost, say.
func (p *Pod) overdue(now metav1.Time) bool {
	if p.DeletionTimestamp == nil || p.DeletionGracePeriodSeconds == nil {
		return false
	}
	return now.After(p.DeletionTimestamp.Add(time.Duration(*p.DeletionGracePeriodSeconds) * time.Second))
}
