package resource_test

import (
	"fmt"

	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

func Example() {
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "node-1"}}
	pod.Name = "web"
	pod.Labels.Set("app", "web")
	pod.CreationTimestamp = metav1.Unix(0, 0)
	b := resource.Append(nil, pod)

	var read corev1.Pod
	if err := resource.Decode(b, &read); err != nil {
		fmt.Println(err)
	}
	fmt.Println(read.Name, read.Spec.NodeName, read.Labels.Get("app"), read.CreationTimestamp, resource.Equal(pod, &read))
	fmt.Println(corev1.Pods.ABI(), read.GetResource().Kind, corev1.Nodes.Namespaced)
	resource.Reset(&read)
	fmt.Println(len(resource.Append(nil, &read)))
	// Output:
	// web node-1 web 1970-01-01T00:00:00Z true
	// v1/pods Pod false
	// 0
}
