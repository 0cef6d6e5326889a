package resourcequota

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/differential/world"
)

// hardNames are resources that quotas bound: those that somebody counts, and names that are nearly one of them.
var hardNames = []string{
	"pods", "count/pods", "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory",
	"requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage", "hugepages-2Mi",
	"requests.hugepages-2Mi", "requests.hugepages-1Gi", "limits.hugepages-2Mi", "requests.example.com/gpu",
	"limits.example.com/gpu", "example.com/gpu", "requests.kubernetes.io/gpu", "requests.requests.example.com/gpu",
	"requests.deviceclass.resource.kubernetes.io/gpu", "requests.deviceclass.resource.kubernetes.io/nic",
	"requests.deviceclass.resource.kubernetes.io/none", "requests.example.com/nic",
	"services", "count/services", "services.nodeports", "services.loadbalancers",
	"persistentvolumeclaims", "count/persistentvolumeclaims", "requests.storage",
	"gold.storageclass.storage.k8s.io/requests.storage", "gold.storageclass.storage.k8s.io/persistentvolumeclaims",
	"lead.storageclass.storage.k8s.io/requests.storage", "gold.storageclass.storage.k8s.io/volumes",
	"count/resourceclaims.resource.k8s.io", "gpu.deviceclass.resource.k8s.io/devices",
	"nic.deviceclass.resource.k8s.io/devices", "none.deviceclass.resource.k8s.io/devices",
	"requests.gpu.deviceclass.resource.k8s.io/devices", "storage", "count/widgets.example.com", "requests.nothing",
	"secrets", "count/secrets", "count/deployments.apps", "deployments.apps", "count/events",
}

// neverCounted are those for which there is never anything.
var neverCounted = []string{"limits.hugepages-2Mi", "limits.example.com/gpu", "example.com/gpu",
	"requests.kubernetes.io/gpu", "requests.requests.example.com/gpu",
	"requests.deviceclass.resource.kubernetes.io/none", "gold.storageclass.storage.k8s.io/volumes",
	"none.deviceclass.resource.k8s.io/devices", "requests.gpu.deviceclass.resource.k8s.io/devices", "storage",
	"count/widgets.example.com", "requests.nothing", "deployments.apps", "count/events"}

func amount(r *world.Rand) resource.Quantity {
	text := world.Of(r, "0", "1", "2", "3", "100m", "250m", "1500m", "0.5", "1e3", "12e6", "1k", "5M", "1Gi", "2Gi",
		"512Mi", "1.5Gi", "1Ki", "1023", "1024", "100n", "3u", "1e-3", "8Ei", "9223372036854775807", "4611686018427387904",
		"9E", "0.1Ki", "1000000000000", "1000Mi", "0Mi")
	if r.One(6) {
		text = fmt.Sprintf("%d%s", r.IntN(100_000), world.Of(r, "", "m", "Ki", "Mi", "Gi", "M", "e3", "n"))
	}
	return resource.MustParse(text)
}

func amounts(r *world.Rand, names ...corev1.ResourceName) corev1.ResourceList {
	if r.One(4) {
		return nil
	}
	l := corev1.ResourceList{}
	for _, name := range names {
		if r.One(3) {
			l[name] = amount(r)
		}
	}
	if r.One(4) { // the same in many objects
		l[corev1.ResourceCPU], l[corev1.ResourceMemory] = resource.MustParse("100m"), resource.MustParse("1Gi")
	}
	return l
}

var podResources = []corev1.ResourceName{"cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "hugepages-1Gi",
	"example.com/gpu", "example.com/nic", "deviceclass.resource.kubernetes.io/gpu",
	"deviceclass.resource.kubernetes.io/nic", "requests.example.com/gpu", "kubernetes.io/gpu", "nothing",
	"gpu.deviceclass.resource.k8s.io/other"}

func requirements(r *world.Rand) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: amounts(r, podResources...), Limits: amounts(r, podResources...)}
}

func containers(r *world.Rand, init bool) (all []corev1.Container) {
	n := r.IntN(4)
	if init {
		n = max(0, n-1)
	}
	for i := range n {
		c := corev1.Container{Name: world.Of(r, "a", "b", "c", "d", "", fmt.Sprint(i)), Resources: requirements(r)}
		if init {
			c.RestartPolicy = world.Of(r, nil, world.Ptr(corev1.ContainerRestartPolicyAlways),
				world.Ptr(corev1.ContainerRestartPolicyOnFailure))
		}
		all = append(all, c)
	}
	return all
}

func statuses(r *world.Rand) (all []corev1.ContainerStatus) {
	for range r.IntN(4) {
		s := corev1.ContainerStatus{Name: world.Of(r, "a", "b", "c", "d", "", "0", "1")}
		if r.One(2) {
			s.AllocatedResources = amounts(r, podResources...)
		}
		if r.One(2) {
			s.Resources = world.Ptr(requirements(r))
		}
		all = append(all, s)
	}
	return all
}

func affinityTerm(r *world.Rand) corev1.PodAffinityTerm {
	t := corev1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{}}
	switch r.IntN(4) {
	case 0:
		t.Namespaces = []string{"other"}
	case 1:
		t.NamespaceSelector = world.Of(r, &metav1.LabelSelector{},
			&metav1.LabelSelector{MatchLabels: map[string]string{"team": "shop"}})
	}
	return t
}

func affinityTerms(r *world.Rand) (required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
	for range r.IntN(2) {
		required = append(required, affinityTerm(r))
	}
	for range r.IntN(2) {
		preferred = append(preferred, corev1.WeightedPodAffinityTerm{Weight: 1, PodAffinityTerm: affinityTerm(r)})
	}
	return required, preferred
}

func affinity(r *world.Rand) *corev1.Affinity {
	if r.One(2) {
		return nil
	}
	a := &corev1.Affinity{}
	if r.One(2) {
		a.PodAffinity = &corev1.PodAffinity{}
		a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
			a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = affinityTerms(r)
	}
	if r.One(2) {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{}
		a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
			a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = affinityTerms(r)
	}
	return a
}

func anyPod(r *world.Rand, name string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: r.UID()}}
	p.Spec = corev1.PodSpec{Containers: containers(r, false), InitContainers: containers(r, true),
		PriorityClassName: world.Of(r, "", "high", "low"), Affinity: affinity(r)}
	if r.One(4) {
		p.Spec.Resources = world.Ptr(requirements(r))
	}
	if r.One(4) {
		p.Spec.Overhead = amounts(r, podResources...)
	}
	p.Spec.ActiveDeadlineSeconds = world.Of[*int64](r, nil, nil, world.Ptr[int64](0), world.Ptr[int64](60),
		world.Ptr[int64](-1))

	p.Status.Phase = world.Of(r, corev1.PodPending, corev1.PodRunning, corev1.PodRunning, corev1.PodSucceeded,
		corev1.PodFailed, corev1.PodUnknown, "")
	p.Status.QOSClass = world.Of[corev1.PodQOSClass](r, "", "", corev1.PodQOSBestEffort, corev1.PodQOSBurstable,
		corev1.PodQOSGuaranteed)
	if r.One(3) {
		p.Status.ContainerStatuses, p.Status.InitContainerStatuses = statuses(r), statuses(r)
	}
	for range r.IntN(3) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type:   world.Of[corev1.PodConditionType](r, corev1.PodReady, corev1.PodResizePending, corev1.PodResizePending),
			Reason: world.Of(r, "", corev1.PodReasonInfeasible, corev1.PodReasonDeferred)})
	}
	if r.One(4) {
		at := time.Now().Add(world.Of(r, -time.Hour, -time.Minute, time.Hour))
		p.DeletionTimestamp = &metav1.Time{Time: at.UTC().Truncate(time.Second)}
		p.DeletionGracePeriodSeconds = world.Of[*int64](r, nil, world.Ptr[int64](0), world.Ptr[int64](30),
			world.Ptr[int64](1800))
	}
	return p
}

func anyService(r *world.Rand, name string) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	s.Spec.Type = world.Of(r, corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer,
		corev1.ServiceTypeExternalName, "")
	s.Spec.AllocateLoadBalancerNodePorts = world.Of(r, nil, world.Ptr(true), world.Ptr(false))
	for range r.IntN(4) {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Port: 80, NodePort: world.Of[int32](r, 0, 30080)})
	}
	return s
}

func anyVolumeClaim(r *world.Rand, name string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	class := func() *string { return world.Of(r, nil, world.Ptr(""), world.Ptr("gold"), world.Ptr("lead")) }
	c.Spec.StorageClassName, c.Spec.VolumeAttributesClassName = class(), class()
	c.Status.CurrentVolumeAttributesClassName = class()
	if r.One(4) {
		c.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: world.Of(r, "", "gold", "lead")}
	}
	if !r.One(8) {
		c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: amount(r)}
	}
	if r.One(3) {
		c.Status.AllocatedResources = corev1.ResourceList{
			world.Of[corev1.ResourceName](r, corev1.ResourceStorage, corev1.ResourceStorage, "other"): amount(r)}
	}
	if r.One(4) {
		c.Status.ModifyVolumeStatus = &corev1.ModifyVolumeStatus{TargetVolumeAttributesClassName: world.Of(r, "", "gold")}
	}
	return c
}

func deviceRequest(r *world.Rand) resourcev1.DeviceRequest {
	class := func() string { return world.Of(r, "gpu", "nic", "other") }
	mode := func() resourcev1.DeviceAllocationMode {
		return world.Of(r, resourcev1.DeviceAllocationModeExactCount, resourcev1.DeviceAllocationModeExactCount,
			resourcev1.DeviceAllocationModeAll, "Later")
	}
	d := resourcev1.DeviceRequest{Name: "a"}
	switch r.IntN(7) {
	case 0:
	case 1, 2, 3:
		d.Exactly = &resourcev1.ExactDeviceRequest{DeviceClassName: class(), AllocationMode: mode(), Count: r.Int64N(5),
			AdminAccess: world.Maybe(r, true)}
	default:
		for range 1 + r.IntN(3) {
			d.FirstAvailable = append(d.FirstAvailable,
				resourcev1.DeviceSubRequest{DeviceClassName: class(), AllocationMode: mode(), Count: r.Int64N(5)})
		}
	}
	return d
}

// anyDeviceClaim is one that says that it was made for one of the pods in many cases.
func anyDeviceClaim(r *world.Rand, name string, pods []*corev1.Pod) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name,
		CreationTimestamp: metav1.NewTime(time.Now().Add(-time.Duration(r.IntN(3)) * time.Hour).Truncate(time.Hour))}}
	for range r.IntN(4) {
		c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, deviceRequest(r))
	}
	if len(pods) == 0 || r.One(3) {
		return c
	}

	c.Annotations = map[string]string{
		resourcev1.ExtendedResourceClaimAnnotation: world.Of(r, "true", "true", "true", "false")}
	p := world.Of(r, pods...)
	owner := world.Owner("v1", "Pod", p.Name, p.UID)
	switch r.IntN(10) {
	case 0:
		owner.UID = r.UID()
	case 1:
		owner.Kind = "Job"
	case 2:
		owner.Name = "gone"
	case 3:
		owner.Controller = nil
	}
	c.OwnerReferences = append(c.OwnerReferences, owner)
	switch r.IntN(4) {
	case 0:
		p.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: name}
	case 1:
		p.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "another"}
	}
	return c
}

func anyScopes(r *world.Rand, s *corev1.ResourceQuotaSpec) {
	all := []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating,
		corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort,
		corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopePriorityClass,
		corev1.ResourceQuotaScopeCrossNamespacePodAffinity, corev1.ResourceQuotaScopeVolumeAttributesClass,
		corev1.ResourceQuotaScopeVolumeAttributesClass}
	if r.One(4) {
		s.Scopes = append(s.Scopes, world.Of(r, all...))
	}
	if !r.One(4) {
		return
	}
	s.ScopeSelector = &corev1.ScopeSelector{}
	for range r.IntN(3) {
		s.ScopeSelector.MatchExpressions = append(s.ScopeSelector.MatchExpressions,
			corev1.ScopedResourceSelectorRequirement{ScopeName: world.Of(r, all...),
				Operator: world.Of(r, corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn, corev1.ScopeSelectorOpExists,
					corev1.ScopeSelectorOpDoesNotExist, "Odd"),
				Values: world.Of(r, nil, []string{"high"}, []string{"gold", "high"}, []string{"not a value!"}, []string{""})})
	}
}

// alike returns the object as often as there are such in the namespace. Each is its own: upstream's evaluators may
// change what they look at.
func alike[T interface{ DeepCopy() T }](r *world.Rand, o T) (all []T) {
	for range world.Of(r, 1, 1, 1, 2, 5, 40) {
		all = append(all, o.DeepCopy())
	}
	return all
}

// viewOf is in which of the plugin's views a pod is: one after the other.
func viewOf(p *corev1.Pod) int {
	switch {
	case ended(p):
		return 2
	case forced(p):
		return 1
	}
	return 0
}

func newNamespace(r *world.Rand) *namespace {
	n := &namespace{quota: &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "all"}}}
	n.quota.Spec.Hard = corev1.ResourceList{}
	for range 1 + r.IntN(12) {
		n.quota.Spec.Hard[corev1.ResourceName(world.Of(r, hardNames...))] = amount(r)
	}
	if r.One(3) {
		n.quota.Status.Used = corev1.ResourceList{}
		for range r.IntN(5) {
			n.quota.Status.Used[corev1.ResourceName(world.Of(r, hardNames...))] = amount(r)
		}
	}
	anyScopes(r, &n.quota.Spec)
	n.quota = stored(n.quota, &corev1.ResourceQuota{})

	var kinds []*corev1.Pod
	for i := range r.IntN(6) {
		kinds = append(kinds, stored(anyPod(r, fmt.Sprintf("pod-%d", i)), &corev1.Pod{}))
	}
	for i := range r.IntN(4) {
		n.services = append(n.services, alike(r, anyService(r, fmt.Sprintf("service-%d", i)))...)
	}
	for i := range r.IntN(5) {
		n.volumeClaims = append(n.volumeClaims,
			alike(r, stored(anyVolumeClaim(r, fmt.Sprintf("claim-%d", i)), &corev1.PersistentVolumeClaim{}))...)
	}
	for i := range r.IntN(5) {
		n.deviceClaims = append(n.deviceClaims, anyDeviceClaim(r, fmt.Sprintf("devices-%d", i), kinds))
	}
	slices.SortStableFunc(kinds, func(a, b *corev1.Pod) int { return viewOf(a) - viewOf(b) })
	for _, p := range kinds {
		n.pods = append(n.pods, alike(r, p)...)
	}
	n.others = map[string]int{"secrets": r.IntN(3), "deployments.apps": r.IntN(3)}
	for _, name := range []string{"gpu", "nic"} {
		if !r.One(4) {
			n.classes = append(n.classes, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: world.Maybe(r, "example.com/"+name)}})
		}
	}
	return n
}
