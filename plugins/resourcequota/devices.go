package resourcequota

import (
	"strings"

	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	resourcev1 "github.com/windlass-dev/windlass/sdk/api/resource/v1"
)

// deviceCount is what a resource of a quota counts of ResourceClaims.
type deviceCount struct {
	// class is the device class of which devices are counted, empty where claims are.
	class string
	// extended are the classes whose devices are also to be had as an extended resource, the one that counts first. A pod
	// that asks for that resource has been charged for it already.
	extended []string
}

// deviceCountOf returns what a resource of a quota counts of ResourceClaims; known is false where it isn't counted for
// their sake: it counts something else, or its device class isn't there.
// (pkg/quota/v1/evaluator/core/resource_claims.go)
func deviceCountOf(name corev1.ResourceName, classes []*DeviceClass) (c deviceCount, known bool) {
	if name == "count/resourceclaims.resource.k8s.io" {
		return deviceCount{}, true
	}
	if class, ok := strings.CutSuffix(string(name), corev1.ResourceClaimsPerClass); ok {
		return deviceCount{class: class}, true
	}
	of, ok := strings.CutPrefix(string(name), corev1.DefaultResourceRequestsPrefix)
	if !ok || !extended(string(name)) && !ofDeviceClass(of) {
		return deviceCount{}, false
	}

	if class, ok := strings.CutPrefix(of, resourcev1.ResourceDeviceClassPrefix); ok {
		return deviceCount{extended: []string{class}}, exists(class, classes)
	}
	var newest *DeviceClass
	for _, d := range classes {
		if d.Spec.ExtendedResourceName == nil || *d.Spec.ExtendedResourceName != of {
			continue
		}
		c.extended = append(c.extended, d.Name)
		if newest == nil || d.newerThan(newest) {
			newest = d
			last := len(c.extended) - 1
			c.extended[0], c.extended[last] = c.extended[last], c.extended[0]
		}
	}
	return c, len(c.extended) > 0
}

func exists(class string, classes []*DeviceClass) bool {
	for _, d := range classes {
		if d.Name == class {
			return true
		}
	}
	return false
}

// newerThan reports whether this class is the one that an extended resource stands for, if both name it.
func (d *DeviceClass) newerThan(e *DeviceClass) bool {
	a, b := d.CreationTimestamp, e.CreationTimestamp
	return a.After(b) || !b.After(a) && d.Name < e.Name
}

// usage is how much the claim takes of what is counted. charged is what the pod that the claim was made for has been
// charged for.
func (d *DeviceClaim) usage(c deviceCount, charged amount) amount {
	if c.class == "" && c.extended == nil {
		return one
	}
	if c.extended == nil {
		return d.devices(c.class)
	}
	for _, class := range c.extended {
		asked := d.devices(class)
		if !asked.there {
			continue
		}
		if charged.there {
			left, ok := asked.Minus(charged.Amount)
			asked.Amount, asked.broken = left, asked.broken || charged.broken || !ok
		}
		if asked.Sign() > 0 || asked.broken {
			return asked
		}
		return amount{}
	}
	return amount{}
}

// devices is how many devices of a class the claim may come to have: of several alternatives the most.
func (d *DeviceClaim) devices(class string) (sum amount) {
	for i := range d.Spec.Devices.Requests {
		r := &d.Spec.Devices.Requests[i]
		if len(r.FirstAvailable) == 0 {
			if r.Exactly != nil && r.Exactly.DeviceClassName == class {
				sum = sum.plus(whole(numberOf(r.Exactly.AllocationMode, r.Exactly.Count)))
			}
			continue
		}
		most := amount{}
		for j := range r.FirstAvailable {
			a := &r.FirstAvailable[j]
			if n := numberOf(a.AllocationMode, a.Count); a.DeviceClassName == class && n > 0 {
				most = most.atLeast(whole(n))
			}
		}
		sum = sum.plus(most)
	}
	return sum
}

// numberOf is how many devices a request may be met with. A mode that isn't known counts nothing.
func numberOf(mode resourcev1.DeviceAllocationMode, count int64) int64 {
	switch mode {
	case resourcev1.DeviceAllocationModeExactCount:
		return count
	case resourcev1.DeviceAllocationModeAll:
		return resourcev1.AllocationResultsMaxSize
	}
	return 0
}
