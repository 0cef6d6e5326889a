package replicas

import (
	"time"

	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// refusalMost is how long a set waits at most for its next pod where nodes refuse its pods.
const refusalMost = 30 * time.Second

// refusalFields are the paths that tell of a refusal beside the phase, with whose change they come.
var refusalFields = []string{"metadata.creationTimestamp", "status.reason", "status.containerStatuses.restartCount"}

// refusalWait returns how much longer a set waits before it makes another pod, because nodes have refused the last
// ones: a second after the first, twice as long after each later one, up to [refusalMost]. Pods made in the same second
// count as one, and a pod that runs ends the count: what was refused before it no longer matters.
func refusalWait(pods []*corev1.Pod, now metav1.Time) time.Duration {
	var ran, last metav1.Time
	for _, p := range pods {
		if p.Status.Phase == corev1.PodRunning && p.CreationTimestamp.After(ran) {
			ran = p.CreationTimestamp
		}
	}

	seconds := map[int64]bool{}
	for _, p := range pods {
		if !refused(p) || ran.After(p.CreationTimestamp) {
			continue
		}
		seconds[p.CreationTimestamp.Unix()] = true
		if p.CreationTimestamp.After(last) {
			last = p.CreationTimestamp
		}
	}

	if len(seconds) == 0 {
		return 0
	}
	wait := min(time.Second<<min(len(seconds)-1, 5), refusalMost)
	return last.Add(wait).Sub(now)
}

// refused reports whether a node didn't take the pod: it has failed with a reason before it had any container. A node
// that shuts down, and one that evicts, isn't what is wrong with the set's pods: these are replaced at once.
func refused(p *corev1.Pod) bool {
	if p.Status.Phase != corev1.PodFailed || len(p.Status.ContainerStatuses) > 0 {
		return false
	}
	switch p.Status.Reason {
	case "", "Evicted", "NodeShutdown", "Shutdown", "Terminated", "NodeLost":
		return false
	}
	return true
}
