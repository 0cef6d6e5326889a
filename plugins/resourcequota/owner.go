package resourcequota

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

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
