package schema_test

import (
	"fmt"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func Example() {
	pods, err := schema.For(abi.Resource{Version: "v1", Name: "pods"})
	if err != nil {
		panic(err)
	}
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web-0", Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
	}
	raw, _ := pod.Marshal()

	mask, _ := pods.Message.Mask("metadata.name", "spec.nodeName")
	kept, _ := mask.Project(nil, raw)
	node, _ := pods.Message.Path("spec.nodeName")
	values, _ := node.Values(nil, kept)
	fmt.Printf("on %s\n", values[0])

	leaves, _ := pods.Message.Leaves([]string{"metadata.labels[app]", "spec.nodeName"})
	pod.Spec.NodeName = "node-2"
	moved, _ := pod.Marshal()
	var changed schema.Bits
	leaves.Changed(raw, moved, &changed)
	fmt.Println("label changed:", changed.Has(0), "node changed:", changed.Has(1))

	_, err = pods.Message.Path("spec.node")
	fmt.Println(err)
	// Output:
	// on node-1
	// label changed: false node changed: true
	// path "spec.node": k8s.io/api/core/v1.PodSpec has no field "node"; there is nodeName, nodeSelector
}
