// Package testpod makes pods of a realistic size for tests.
package testpod

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// New makes the i-th pod: of a Deployment, running and ready, about 2.9 KB in protobuf with its managedFields. No two
// pods share a string.
func New(i int) *corev1.Pod {
	at := metav1.NewTime(time.Unix(1_760_000_000+int64(i), 0))
	s := func(format string, args ...any) string { return fmt.Sprintf(format, args...) }
	yes, grace, priority, uid := true, int64(30), int32(0), int64(10001)
	hash := s("%08x", 0x5d4f6c7b^i/10)
	app := s("shop-frontend-%d", i/10)
	labels := map[string]string{
		"app.kubernetes.io/name": app, "app.kubernetes.io/component": "web", "app.kubernetes.io/version": s("1.%d.3", i%7),
		"pod-template-hash": hash, "team": "storefront",
	}

	env := []corev1.EnvVar{
		{Name: "DATABASE_URL", ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: s("database")},
				Key: "url"}}},
		{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1",
			FieldPath: "metadata.name"}}},
		{Name: "LOG_LEVEL", Value: s("info")}, {Name: "FEATURES", Value: s("cart,search,recommendations,checkout-v2")},
		{Name: "LISTEN", Value: s(":8080")},
	}

	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: s("%s", path),
				Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP}},
			TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
		}
	}

	image := s("registry.example.com/storefront/frontend:1.%d.3", i%7)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: s("%s-%s-%05x", app, hash, i), GenerateName: s("%s-%s-", app, hash), Namespace: s("team-%d", i%50),
			UID: types.UID(s("8f2c1d6e-4b7a-4c39-9e51-%012x", i)), ResourceVersion: s("%d", 1_000_000+i), CreationTimestamp: at,
			Generation: 1,
			Labels:     labels,
			Annotations: map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "9090",
				"checksum/config": s("%064x", i)},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: s("apps/v1"), Kind: s("ReplicaSet"), Name: s("%s-%s", app, hash),
				UID: types.UID(s("1b3d5f70-9a8c-4e2b-8d64-%012x", i/10)), Controller: &yes, BlockOwnerDeletion: &yes,
			}},
			ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at,
					FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(s(managedByController))},
				{Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at,
					FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(s(managedByKubelet)), Subresource: "status"},
			},
		},
		Spec: corev1.PodSpec{
			Volumes: []corev1.Volume{
				{Name: "config", VolumeSource: corev1.VolumeSource{
					ConfigMap: &corev1.ConfigMapVolumeSource{
						LocalObjectReference: corev1.LocalObjectReference{Name: s("%s-config", app)}}}},
				{Name: s("kube-api-access-%05x", i),
					VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
						{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: &grace, Path: "token"}},
						{ConfigMap: &corev1.ConfigMapProjection{
							LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
							Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
					}}}},
			},
			Containers: []corev1.Container{{
				Name: "frontend", Image: image, Env: env,
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP},
					{Name: "metrics", ContainerPort: 9090, Protocol: corev1.ProtocolTCP}},
				Resources: corev1.ResourceRequirements{
					Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"),
						corev1.ResourceMemory: resource.MustParse("256Mi")},
				},
				VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: s("/etc/frontend"), ReadOnly: true},
					{Name: s("kube-api-access-%05x", i), MountPath: s("/var/run/secrets/kubernetes.io/serviceaccount"),
						ReadOnly: true}},
				LivenessProbe: probe("/healthz"), ReadinessProbe: probe("/readyz"),
				TerminationMessagePath: s("/dev/termination-log"), TerminationMessagePolicy: corev1.TerminationMessageReadFile,
				ImagePullPolicy: corev1.PullIfNotPresent,
				SecurityContext: &corev1.SecurityContext{RunAsUser: &uid, RunAsNonRoot: &yes, ReadOnlyRootFilesystem: &yes},
			}},
			RestartPolicy: corev1.RestartPolicyAlways, TerminationGracePeriodSeconds: &grace, DNSPolicy: corev1.DNSClusterFirst,
			ServiceAccountName: s("frontend"), DeprecatedServiceAccount: s("frontend"),
			NodeName: s("node-%04d", i%500), SecurityContext: &corev1.PodSecurityContext{FSGroup: &uid},
			SchedulerName: s("default-scheduler"), Priority: &priority, EnableServiceLinks: &yes,
			Tolerations: []corev1.Toleration{
				{Key: s("node.kubernetes.io/not-ready"), Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
					TolerationSeconds: &grace},
				{Key: s("node.kubernetes.io/unreachable"), Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
					TolerationSeconds: &grace},
			},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, HostIP: s("10.0.%d.%d", i/250%250, i%250),
			PodIP: s("10.%d.%d.%d", 64+i/62500, i/250%250, i%250), StartTime: &at, QOSClass: corev1.PodQOSBurstable,
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "frontend", Ready: true, Started: &yes, Image: image,
				ImageID: s("registry.example.com/storefront/frontend@sha256:%064x", i%7), ContainerID: s("containerd://%064x", i),
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}},
			}},
		},
	}

	pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
	pod.Status.HostIPs = []corev1.HostIP{{IP: pod.Status.HostIP}}
	for _, c := range []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady,
		corev1.ContainersReady, corev1.PodScheduled} {
		pod.Status.Conditions = append(pod.Status.Conditions,
			corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: at})
	}
	return pod
}

const (
	managedByController = `{"f:metadata":{"f:annotations":{".":{},"f:checksum/config":{},"f:prometheus.io/port":{}},"f:generateName":{},"f:labels":{".":{},"f:app.kubernetes.io/name":{},"f:pod-template-hash":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"1b3d5f70-9a8c-4e2b-8d64-7f6e5d4c3b2a\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"frontend\"}":{".":{},"f:env":{},"f:image":{},"f:name":{},"f:ports":{},"f:resources":{}}},"f:dnsPolicy":{},"f:restartPolicy":{}}}`
	managedByKubelet    = `{"f:status":{"f:conditions":{"k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:podIPs":{},"f:startTime":{}}}`
)
