package module

import (
	"fmt"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// Put adds an object to a view of a request.
func Put(r *abi.SyncRequest, view int, o sdk.Object) {
	r.Views[view].Objects = append(r.Views[view].Objects,
		abi.ObjectData{Data: resource.Append(nil, o), ResourceVersion: "1"})
}

// Service is the request of a plugin with so many views for a service with n ready pods, ten on a node; the service is
// in the first view, the pods are in the second.
func Service(views, n int) *abi.SyncRequest {
	s := &corev1.Service{}
	s.Namespace, s.Name, s.UID, s.CreationTimestamp = "default", "web", "5d2f8c1e-0000-4000-8000-000000000000",
		metav1.Unix(1_780_000_000, 0)
	s.Labels.Set("app", "web")
	s.Spec.Selector.Set("app", "web")
	s.Spec.ClusterIP, s.Spec.IPFamilies = "10.96.0.1", []corev1.IPFamily{corev1.IPv4Protocol}
	s.Spec.Ports = []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80,
		TargetPort: metav1.IntOrString{IntVal: 8080}}}
	r := &abi.SyncRequest{Key: abi.KeyRef{Namespace: "default", Name: "web"}, Now: 1_800_000_000e9,
		Views: make([]abi.ViewData, views)}
	Put(r, 0, s)
	for i := range n {
		p := &corev1.Pod{}
		p.Namespace, p.Name, p.UID = "default", fmt.Sprintf("web-7d9c8b6f5d-%05d", i),
			metav1.UID(fmt.Sprintf("0b8f7c8e-0000-4000-8000-%012d", i))
		p.Spec.NodeName = NodeOf(i)
		p.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{ContainerPort: 8080,
			Protocol: corev1.ProtocolTCP}}}}
		p.Status.Phase = corev1.PodRunning
		p.Status.PodIPs = []corev1.PodIP{{IP: fmt.Sprintf("10.%d.%d.%d", 1+i/65536, i/256%256, i%256)}}
		p.Status.Conditions = ReadyConditions(metav1.Unix(1_790_000_000+int64(i), 0))
		Put(r, 1, p)
	}
	return r
}

// NodeOf names the node of a service's pod.
func NodeOf(pod int) string { return fmt.Sprintf("node-%04d", pod/10) }

// ReadyConditions are those of a pod that a kubelet keeps running.
func ReadyConditions(since metav1.Time) (l []corev1.PodCondition) {
	for _, c := range []corev1.PodConditionType{corev1.PodScheduled, "PodReadyToStartContainers", corev1.PodInitialized,
		corev1.ContainersReady, corev1.PodReady} {
		l = append(l, corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: since})
	}
	return l
}
