package resourcequota

import (
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
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
	count := func(view *sdk.View[Pod, *Pod], shares []share[podCount]) {
		list, alike := view.AskDistinct(c, abi.Ask{})
		for i, p := range list {
			if !p.inScopes(t.scopes, rules) {
				continue
			}
			for _, s := range shares {
				t.add(s.place, p.usage(s.how, c.Now(), rules).times(alike[i]))
			}
		}
	}

	count(pods, shares)
	count(forcedPods, shares)
	for i, s := range shares {
		if s.how.what == allPods {
			count(endedPods, shares[i:i+1])
		}
	}
}

func (t *tally) countServices(c *sdk.Call) {
	shares := sharesOf(t, named(countsServices))
	if len(shares) == 0 || len(t.scopes) > 0 { // no scope is about services
		return
	}
	list, alike := services.AskDistinct(c, abi.Ask{})
	for i, s := range list {
		for _, x := range shares {
			t.add(x.place, s.usage(x.how).times(alike[i]))
		}
	}
}

func (t *tally) countVolumeClaims(c *sdk.Call) {
	shares := sharesOf(t, named(countsVolumeClaims))
	if len(shares) == 0 {
		return
	}
	list, alike := volumeClaims.AskDistinct(c, abi.Ask{})
	for i, v := range list {
		if !v.inScopes(t.scopes) {
			continue
		}
		for _, x := range shares {
			t.add(x.place, v.usage(x.how).times(alike[i]))
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
	list, alike := deviceClaims.AskDistinct(c, abi.Ask{})
	for i, d := range list {
		for _, x := range shares {
			t.add(x.place, d.usage(x.how, amount{}).times(alike[i]))
		}
	}

	made := podsClaims.List(c)
	var pods owners
	if slices.ContainsFunc(shares, func(x share[deviceCount]) bool { return x.how.extended != nil }) {
		pods = ownersOf(c, made)
	}
	for _, d := range made {
		owner := pods.of(d)
		for _, x := range shares {
			t.add(x.place, d.usage(x.how, chargedFor(c, owner, t.hard[x.place].Key)))
		}
	}
}

// boundsExtended reports whether the quota bounds a resource that may be had by device claims, too.
func (t *tally) boundsExtended() bool {
	for i := range t.hard {
		n, _ := podCountOf(t.hard[i].Key)
		if n.what == podRequests && (extended(string(n.of)) || ofDeviceClass(string(n.of))) {
			return true
		}
	}
	return false
}

// countObjects counts the objects of resources of which nothing else matters. One that the API server doesn't serve
// isn't known: the quota's status says nothing of it.
func (t *tally) countObjects(c *sdk.Call) {
	for i := range t.hard {
		name, ok := objectsCounted(t.hard[i].Key)
		if !ok {
			continue
		}
		found := objects.AskCount(c, abi.Ask{Namespace: c.Namespace(), Resource: name})
		switch {
		case found.Unserved:
		case len(found.Unlisted) > 0:
			t.fail(i, sdk.Errors(string(t.hard[i].Key), ": ", found.Unlisted[0], " can't be listed; see the log for why"))
		case len(t.scopes) > 0: // no scope is about them
			t.add(i, whole(0))
		default:
			t.add(i, whole(found.Count))
		}
	}
}

// objectsCounted returns the resource whose objects alone count for a resource of a quota. Events never do.
func objectsCounted(name corev1.ResourceName) (resource string, ok bool) {
	switch name {
	case corev1.ResourceConfigMaps, corev1.ResourceSecrets, corev1.ResourceReplicationControllers, corev1.ResourceQuotas:
		return string(name), true
	case "count/pods", "count/services", "count/persistentvolumeclaims", "count/resourceclaims.resource.k8s.io",
		"count/events", "count/events.events.k8s.io":
		return "", false
	}
	return strings.CutPrefix(string(name), "count/")
}
