package resourcequota

import (
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	resourcev1 "github.com/windlass-dev/windlass/sdk/api/resource/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// quotas are the keys. Their status is written by the API server with each object that it admits, too.
var quotas = sdk.Key(corev1.ResourceQuotasResource).Fields("spec", "status.hard", "status.used").Quiet("status")

// batch is how long a quota waits for more to go before it is counted. The oftener it is counted while objects come and
// go, the oftener one that was admitted isn't in the cache yet, and others are admitted in its place.
const batch = 100 * time.Millisecond

// What a quota counts is asked for, and then wakes it. An object that comes doesn't: the API server has counted it
// before it let it in. What does is that an object goes, or may have come to need less.
var (
	inNamespace = sdk.KeyNamespace()
	ended       = sdk.In("status.phase", string(corev1.PodSucceeded), string(corev1.PodFailed))

	// podNeeds is what pods are counted by, in spec and in status; and of it what doesn't wake quotas.
	podNeeds = []string{"spec.containers.name", "spec.containers.resources", "spec.initContainers.name",
		"spec.initContainers.resources", "spec.initContainers.restartPolicy", "spec.resources", "spec.overhead",
		"spec.activeDeadlineSeconds", "spec.priorityClassName", "spec.affinity.podAffinity", "spec.affinity.podAntiAffinity",
		"metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds", "status.phase", "status.qosClass",
		"status.conditions.type", "status.conditions.reason", "status.containerStatuses.name",
		"status.containerStatuses.allocatedResources", "status.containerStatuses.resources",
		"status.initContainerStatuses.name", "status.initContainerStatuses.allocatedResources",
		"status.initContainerStatuses.resources"}
	podQuiet = []string{"spec.containers", "spec.initContainers", "spec.resources", "spec.overhead",
		"spec.priorityClassName", "spec.affinity", "metadata", "status.phase", "status.qosClass", "status.conditions",
		"status.containerStatuses.name", "status.containerStatuses.allocatedResources",
		"status.initContainerStatuses.name", "status.initContainerStatuses.allocatedResources"}

	// forced are pods that are deleted with no time left: what they take is free, whatever still keeps them.
	notForced = sdk.Any(sdk.Not(sdk.Exists("metadata.deletionTimestamp")),
		sdk.Not(sdk.In("metadata.deletionGracePeriodSeconds", "0")))
	forced = sdk.All(sdk.Exists("metadata.deletionTimestamp"), sdk.In("metadata.deletionGracePeriodSeconds", "0"))

	pods = sdk.Select(podKind, inNamespace, sdk.Not(ended), notForced).Lazy().Distinct().Fields(podNeeds...).
		Quiet(podQuiet...).QuietOn(abi.QuietAdd).Batch(time.Second)
	forcedPods = sdk.Select(podKind, inNamespace, sdk.Not(ended), forced).Named("forced pods").Lazy().Distinct().
			Fields(podNeeds...).QuietOn(abi.QuietAdd, abi.QuietUpdate).Batch(time.Second)
	endedPods = sdk.Select(podKind, inNamespace, ended).Named("ended pods").Lazy().Distinct().Fields(podNeeds...).
			QuietOn(abi.QuietAdd, abi.QuietUpdate).Batch(time.Second)
	// claimingPods are those that claims of devices were made for.
	claimingPods = sdk.Select(podKind, inNamespace).Named("claiming pods").Lazy().Quiet().
			Fields("metadata.uid", "status.extendedResourceClaimStatus.resourceClaimName").Fields(podNeeds...)

	services = sdk.Select(serviceKind, inNamespace).Lazy().Distinct().
			Fields("spec.type", "spec.ports.nodePort", "spec.allocateLoadBalancerNodePorts").
			Quiet("spec.ports", "spec.allocateLoadBalancerNodePorts").QuietOn(abi.QuietAdd).Batch(batch)

	volumeClaims = sdk.Select(volumeClaimKind, inNamespace).Lazy().Distinct().
			Fields("spec.resources.requests", "spec.storageClassName", "spec.volumeAttributesClassName",
			"metadata.annotations["+corev1.BetaStorageClassAnnotation+"]", "status.allocatedResources",
			"status.currentVolumeAttributesClassName", "status.modifyVolumeStatus.targetVolumeAttributesClassName").
		QuietOn(abi.QuietAdd).Batch(batch)

	ofPods      = sdk.In("metadata.annotations["+resourcev1.ExtendedResourceClaimAnnotation+"]", "true")
	deviceNeeds = []string{"spec.devices.requests.exactly.deviceClassName",
		"spec.devices.requests.exactly.allocationMode", "spec.devices.requests.exactly.count",
		"spec.devices.requests.firstAvailable.deviceClassName", "spec.devices.requests.firstAvailable.allocationMode",
		"spec.devices.requests.firstAvailable.count"}

	// podsClaims are the claims that were made for pods' extended resources: with these it matters which they are.
	podsClaims = sdk.Select(deviceClaimKind, inNamespace, ofPods).Named("claims of pods").Lazy().
			Fields("metadata.ownerReferences", "metadata.creationTimestamp").Fields(deviceNeeds...).
			QuietOn(abi.QuietAdd, abi.QuietUpdate).Batch(batch)
	deviceClaims = sdk.Select(deviceClaimKind, inNamespace, sdk.Not(ofPods)).Lazy().Distinct().
			Fields(deviceNeeds...).QuietOn(abi.QuietAdd, abi.QuietUpdate).Batch(batch)
	deviceClasses = sdk.Select(deviceClassKind).Lazy().Quiet().
			Fields("metadata.creationTimestamp", "spec.extendedResourceName")

	// objects are those that are counted and nothing else, of any resource.
	objects = sdk.Select(resource.Any, inNamespace).Named("objects").Lazy().Lenient().Batch(batch).
		QuietOn(abi.QuietAdd, abi.QuietUpdate)
)

var reads = sdk.Views{quotas, pods, forcedPods, endedPods, claimingPods, services, volumeClaims, podsClaims,
	deviceClaims, deviceClasses, objects}
