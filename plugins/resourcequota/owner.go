package resourcequota

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// owners are the pods that claims were made for.
type owners struct {
	pods  map[string]*Pod             // by name
	first map[metav1.UID]*DeviceClaim // of those that say they were made for a pod
}

// namesMost is how many pods are asked for at once.
const namesMost = 10_000

// ownersOf finds the pods of which claims say that they were made for them.
func ownersOf(c *sdk.Call, made []*DeviceClaim) owners {
	o := owners{map[string]*Pod{}, map[metav1.UID]*DeviceClaim{}}
	var names []string
	for _, d := range made {
		uid, name := podOf(d)
		if name == "" {
			continue
		}
		if first := o.first[uid]; first == nil || d.before(first) {
			o.first[uid] = d
		}
		if _, asked := o.pods[name]; !asked {
			o.pods[name] = nil
			names = append(names, name)
		}
	}
	for len(names) > 0 {
		n := min(len(names), namesMost)
		for _, p := range claimingPods.Ask(c, abi.Ask{Namespace: c.Namespace(), Names: names[:n]}) {
			o.pods[p.Name] = p
		}
		names = names[n:]
	}
	return o
}

// of returns the pod that the claim was made for, nil where that can't be shown: anybody may say of a claim that it was
// made for a pod. Where the pod doesn't say which it is, it is the first.
func (o owners) of(d *DeviceClaim) *Pod {
	uid, name := podOf(d)
	p := o.pods[name]
	if p == nil || p.UID != uid {
		return nil
	}
	if status := p.Status.ExtendedResourceClaimStatus; status != nil && status.ResourceClaimName != d.Name ||
		status == nil && o.first[uid] != d {
		return nil
	}
	return p
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
