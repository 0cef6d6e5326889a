package conformance

import (
	"fmt"
	"testing"
	"unsafe"

	kcorev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kmetav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ktypes "k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi/wire"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// encodedPods returns the wire bytes of a thousand running pods as a kubelet leaves them, managedFields aside.
func encodedPods(tb testing.TB) [][]byte {
	now := kmetav1.Unix(1700000000, 0)
	yes := true
	var all [][]byte
	for i := range 1000 {
		p := kcorev1.Pod{
			ObjectMeta: kmetav1.ObjectMeta{
				Name: fmt.Sprintf("web-6d4b75cb6d-%05d", i), GenerateName: "web-6d4b75cb6d-", Namespace: "default",
				UID:             ktypes.UID(fmt.Sprintf("0e1c9b0a-7d5f-4f5c-9a3b-%012d", i)),
				ResourceVersion: fmt.Sprint(100000 + i), CreationTimestamp: now,
				Labels: map[string]string{"app": "web", "pod-template-hash": "6d4b75cb6d", "tier": "front"},
				OwnerReferences: []kmetav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-6d4b75cb6d",
					UID: "9c1f0a52-9b4b-4b7e-8d55-3b7e0d2d6a11", Controller: &yes, BlockOwnerDeletion: &yes}},
			},
			Spec: kcorev1.PodSpec{
				NodeName: fmt.Sprintf("node-%d", i%50), ServiceAccountName: "default", RestartPolicy: "Always",
				DNSPolicy: "ClusterFirst", SchedulerName: "default-scheduler",
				Volumes: []kcorev1.Volume{{Name: "kube-api-access",
					VolumeSource: kcorev1.VolumeSource{Projected: &kcorev1.ProjectedVolumeSource{Sources: []kcorev1.VolumeProjection{
						{ServiceAccountToken: &kcorev1.ServiceAccountTokenProjection{Path: "token"}},
						{ConfigMap: &kcorev1.ConfigMapProjection{Items: []kcorev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}}}}}}},
				Containers: []kcorev1.Container{{
					Name: "web", Image: "registry.example/web:1.2.3", Ports: []kcorev1.ContainerPort{{Name: "http",
						ContainerPort: 8080, Protocol: "TCP"}}, ImagePullPolicy: "IfNotPresent",
					Env: []kcorev1.EnvVar{{Name: "A", Value: "1"},
						{Name: "POD_IP", ValueFrom: &kcorev1.EnvVarSource{FieldRef: &kcorev1.ObjectFieldSelector{FieldPath: "status.podIP"}}}},
					Resources: kcorev1.ResourceRequirements{Requests: kcorev1.ResourceList{"cpu": resource.MustParse("100m"),
						"memory": resource.MustParse("128Mi")}},
					VolumeMounts: []kcorev1.VolumeMount{{Name: "kube-api-access",
						MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}},
					ReadinessProbe: &kcorev1.Probe{ProbeHandler: kcorev1.ProbeHandler{HTTPGet: &kcorev1.HTTPGetAction{Path: "/healthz"}}, PeriodSeconds: 10},
				}},
				Tolerations: []kcorev1.Toleration{{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute"},
					{Key: "node.kubernetes.io/unreachable", Operator: "Exists", Effect: "NoExecute"}},
			},
			Status: kcorev1.PodStatus{
				Phase: "Running", HostIP: "10.0.0.1", PodIP: fmt.Sprintf("10.1.%d.%d", i/256, i%256),
				PodIPs: []kcorev1.PodIP{{IP: fmt.Sprintf("10.1.%d.%d", i/256, i%256)}}, StartTime: &now, QOSClass: "Burstable",
				Conditions: []kcorev1.PodCondition{{Type: "Initialized", Status: "True", LastTransitionTime: now},
					{Type: "Ready", Status: "True", LastTransitionTime: now},
					{Type: "ContainersReady", Status: "True", LastTransitionTime: now},
					{Type: "PodScheduled", Status: "True", LastTransitionTime: now}},
				ContainerStatuses: []kcorev1.ContainerStatus{{Name: "web", Ready: true, Image: "registry.example/web:1.2.3",
					State: kcorev1.ContainerState{Running: &kcorev1.ContainerStateRunning{StartedAt: now}}}},
			},
		}

		b, err := p.Marshal()
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}

// BenchmarkDecode1000Pods decodes a thousand pods of 1.4 KB.
func BenchmarkDecode1000Pods(b *testing.B) {
	all := encodedPods(b)
	b.Run("wire", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			list := make([]corev1.Pod, len(all))
			for i := range all {
				if err := wire.Unmarshal(all[i], unsafe.Pointer(&list[i]), &corev1.PodTable); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("k8s.io", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			list := make([]kcorev1.Pod, len(all))
			for i := range all {
				if err := list[i].Unmarshal(all[i]); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// BenchmarkEncode1000Pods encodes them again.
func BenchmarkEncode1000Pods(b *testing.B) {
	all := encodedPods(b)
	ours, theirs := make([]corev1.Pod, len(all)), make([]kcorev1.Pod, len(all))
	for i := range all {
		if err := wire.Unmarshal(all[i], unsafe.Pointer(&ours[i]), &corev1.PodTable); err != nil {
			b.Fatal(err)
		}
		if err := theirs[i].Unmarshal(all[i]); err != nil {
			b.Fatal(err)
		}
	}

	b.Run("wire", func(b *testing.B) {
		var buf []byte
		for b.Loop() {
			for i := range ours {
				buf = wire.Append(buf[:0], unsafe.Pointer(&ours[i]), &corev1.PodTable)
			}
		}
	})

	b.Run("k8s.io", func(b *testing.B) {
		for b.Loop() {
			for i := range theirs {
				if _, err := theirs[i].Marshal(); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
