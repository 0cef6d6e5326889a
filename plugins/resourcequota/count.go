package resourcequota

import (
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	resourcev1 "github.com/windlass-dev/windlass/sdk/api/resource/v1"
)

// What is counted is asked for when it is needed. No object that comes wakes a quota: the API server has counted it
// already. What wakes it is that an object goes, or comes to need less.
var (
	ended = sdk.In("status.phase", string(corev1.PodSucceeded), string(corev1.PodFailed))
	// podNeeds is what pods are counted by. A resize and a deadline wake quotas, nothing else that a pod becomes does
	// before it has ended.
	podNeeds = []string{"spec.containers.name", "spec.containers.resources", "spec.initContainers.name",
		"spec.initContainers.resources", "spec.initContainers.restartPolicy", "spec.resources", "spec.overhead",
		"spec.activeDeadlineSeconds", "spec.priorityClassName", "spec.affinity.podAffinity", "spec.affinity.podAntiAffinity",
		"metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds", "status.phase", "status.qosClass",
		"status.conditions.type", "status.conditions.reason", "status.containerStatuses.name",
		"status.containerStatuses.allocatedResources", "status.containerStatuses.resources",
		"status.initContainerStatuses.name", "status.initContainerStatuses.allocatedResources",
		"status.initContainerStatuses.resources"}

	pods = sdk.Select(podKind, sdk.KeyNamespace(), sdk.Not(ended)).Lazy().Fields(podNeeds...).
		Quiet("spec.containers", "spec.initContainers", "spec.resources", "spec.overhead", "spec.priorityClassName",
			"spec.affinity", "metadata", "status.phase", "status.qosClass", "status.conditions").
		QuietOn(abi.QuietAdd).Batch(time.Second)
	endedPods = sdk.Select(podKind, sdk.KeyNamespace(), ended).Named("ended pods").Lazy().Fields(podNeeds...).
			Quiet().Batch(time.Second)
	// claimingPods are those that device claims were made for.
	claimingPods = sdk.Select(podKind, sdk.KeyNamespace()).Named("claiming pods").Lazy().Quiet().
			Fields(append([]string{"metadata.uid", "status.extendedResourceClaimStatus.resourceClaimName"}, podNeeds...)...)

	services = sdk.Select(serviceKind, sdk.KeyNamespace()).Lazy().
			Fields("spec.type", "spec.ports.nodePort", "spec.allocateLoadBalancerNodePorts").
			Quiet("spec.ports", "spec.allocateLoadBalancerNodePorts").QuietOn(abi.QuietAdd)

	volumeClaims = sdk.Select(volumeClaimKind, sdk.KeyNamespace()).Lazy().
			Fields("spec.resources.requests", "spec.storageClassName", "spec.volumeAttributesClassName",
			"metadata.annotations["+corev1.BetaStorageClassAnnotation+"]", "status.allocatedResources",
			"status.currentVolumeAttributesClassName", "status.modifyVolumeStatus.targetVolumeAttributesClassName").
		QuietOn(abi.QuietAdd)

	ofPods = sdk.In("metadata.annotations["+resourcev1.ExtendedResourceClaimAnnotation+"]", "true")
	// podsClaims are the claims that were made for pods' extended resources: whose each is matters. deviceClaims are all
	// others.
	deviceClaims = sdk.Select(deviceClaimKind, sdk.KeyNamespace(), sdk.Not(ofPods)).Lazy().
			Fields(deviceNeeds...).QuietOn(abi.QuietAdd, abi.QuietUpdate)
	podsClaims = sdk.Select(deviceClaimKind, sdk.KeyNamespace(), ofPods).Named("claims of pods").Lazy().
			Fields(append([]string{"metadata.ownerReferences", "metadata.creationTimestamp"}, deviceNeeds...)...).
			QuietOn(abi.QuietAdd, abi.QuietUpdate)
	deviceNeeds = []string{"spec.devices.requests.exactly.deviceClassName", "spec.devices.requests.exactly.allocationMode",
		"spec.devices.requests.exactly.count", "spec.devices.requests.firstAvailable.deviceClassName",
		"spec.devices.requests.firstAvailable.allocationMode", "spec.devices.requests.firstAvailable.count"}
	deviceClasses = sdk.Select(deviceClassKind).Lazy().Quiet().
			Fields("metadata.creationTimestamp", "spec.extendedResourceName")
)

func rulesOf(c *sdk.Call) podRules {
	return podRules{asWhole: podsAsWhole.On(c), onlyIfSet: qosIfSet.On(c)}
}

func (t *tally) countPods(c *sdk.Call) {
	shares := sharesOf(t, podCountOf)
	if len(shares) == 0 {
		return
	}
	rules := rulesOf(c)
	count := func(list []*Pod, shares []share[podCount]) {
		for _, p := range list {
			if !p.inScopes(t.scopes, rules) {
				continue
			}
			for _, s := range shares {
				t.add(s.place, p.usage(s.how, c.Now(), rules))
			}
		}
	}

	count(pods.List(c), shares)
	for i, s := range shares {
		if s.how.what == allPods {
			count(endedPods.List(c), shares[i:i+1])
		}
	}
}

func (t *tally) countServices(c *sdk.Call) {
	shares := sharesOf(t, named(countsServices))
	if len(shares) == 0 || len(t.scopes) > 0 { // no scope is about services
		return
	}
	for _, s := range services.List(c) {
		for _, x := range shares {
			t.add(x.place, s.usage(x.how))
		}
	}
}

func (t *tally) countVolumeClaims(c *sdk.Call) {
	shares := sharesOf(t, named(countsVolumeClaims))
	if len(shares) == 0 {
		return
	}
	for _, v := range volumeClaims.List(c) {
		if !v.inScopes(t.scopes) {
			continue
		}
		for _, x := range shares {
			t.add(x.place, v.usage(x.how))
		}
	}
}

// named makes the resource's name itself say what is counted for it.
func named(counts func(corev1.ResourceName) bool) func(corev1.ResourceName) (corev1.ResourceName, bool) {
	return func(name corev1.ResourceName) (corev1.ResourceName, bool) { return name, counts(name) }
}

func (t *tally) countDevices(c *sdk.Call) {
	var classes []*DeviceClass
	if t.boundsExtended() {
		classes = deviceClasses.List(c)
	}
	countOf := func(name corev1.ResourceName) (deviceCount, bool) { return deviceCountOf(name, classes) }
	if len(sharesOf(t, countOf)) == 0 || len(t.scopes) > 0 { // no scope is about devices
		return
	}
	// Where claims are counted at all, devices of a class that isn't there are as well.
	shares := sharesOf(t, func(name corev1.ResourceName) (deviceCount, bool) {
		how, known := countOf(name)
		return how, known || how.extended != nil
	})
	for _, d := range deviceClaims.List(c) {
		for _, x := range shares {
			t.add(x.place, d.usage(x.how, amount{}))
		}
	}

	made := podsClaims.List(c)
	for _, d := range made {
		owner := ownerOf(c, d, made)
		for _, x := range shares {
			t.add(x.place, d.usage(x.how, chargedFor(c, owner, t.hard[x.place].Key)))
		}
	}
}

// boundsExtended reports whether the quota bounds a resource that may be had by device claims, too.
func (t *tally) boundsExtended() bool {
	for i := range t.hard {
		if n, ok := podCountOf(t.hard[i].Key); ok && n.what != podLimits && (extended(string(n.of)) || ofDeviceClass(string(n.of))) {
			return true
		}
	}
	return false
}

// ownerOf returns the pod that the claim was made for, nil where that can't be shown: anybody may say of a claim that
// it was made for a pod.
func ownerOf(c *sdk.Call, d *DeviceClaim, made []*DeviceClaim) *Pod {
	uid, name := podOf(d)
	if name == "" {
		return nil
	}
	found := claimingPods.Ask(c, abi.Ask{Names: []string{name}})
	if len(found) == 0 || found[0].UID != uid {
		return nil
	}
	if status := found[0].Status.ExtendedResourceClaimStatus; status != nil {
		if status.ResourceClaimName != d.Name {
			return nil
		}
		return found[0]
	}

	for _, other := range made { // the pod doesn't say which it is: the first
		if owner, _ := podOf(other); owner == uid && other.before(d) {
			return nil
		}
	}
	return found[0]
}

// podOf returns the pod that controls the claim, nothing where it is another object.
func podOf(d *DeviceClaim) (uid metav1.UID, name string) {
	for i := range d.OwnerReferences {
		if o := &d.OwnerReferences[i]; o.Controller != nil && *o.Controller {
			if o.Kind != "Pod" || o.APIVersion != "v1" {
				break
			}
			return o.UID, o.Name
		}
	}
	return "", ""
}

func (d *DeviceClaim) before(e *DeviceClaim) bool {
	a, b := d.CreationTimestamp, e.CreationTimestamp
	return a.Before(b) || a.Equal(b) && d.Name < e.Name
}

// chargedFor is how much of a resource of a quota the pod has been charged for.
func chargedFor(c *sdk.Call, p *Pod, name corev1.ResourceName) amount {
	n, ok := podCountOf(name)
	if p == nil || !ok {
		return amount{}
	}
	return p.usage(n, c.Now(), rulesOf(c))
}
