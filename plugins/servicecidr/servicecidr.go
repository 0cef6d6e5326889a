// Package servicecidr keeps ServiceCIDRs from being deleted while Services have addresses that are in no other one.
//
// A ServiceCIDR gets a finalizer and the condition Ready. When it is deleted, the finalizer goes ten seconds later at
// the earliest, and only when each of its addresses that a Service has is in another ServiceCIDR as well.
package servicecidr

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	networkingv1 "github.com/windlass-dev/windlass/sdk/api/networking/v1"
	"github.com/windlass-dev/windlass/sdk/conditions"
	"github.com/windlass-dev/windlass/sdk/resource"
)

const (
	finalizer = "networking.k8s.io/service-cidr-finalizer"
	allocator = "ipallocator.k8s.io" // who makes the IPAddresses of Services
	family    = "metadata.labels[" + networkingv1.LabelIPAddressFamily + "]"

	// grace is how long the allocators have to learn that a ServiceCIDR is being deleted.
	grace = 10 * time.Second
)

var (
	cidrs = sdk.Key(networkingv1.ServiceCIDRs).
		Fields("metadata.deletionTimestamp", "metadata.finalizers", "spec.cidrs", "status.conditions").QuietOn(abi.QuietOwn)

	// What follows is asked for while a ServiceCIDR is being deleted. There may be tens of thousands of addresses.
	all       = sdk.Select(networkingv1.ServiceCIDRs).Named("all").Fields("spec.cidrs").Lazy()
	addresses = sdk.Select(resource.MetadataOf("networking.k8s.io", "v1", "ipaddresses"),
		sdk.In("metadata.labels["+networkingv1.LabelManagedBy+"]", allocator),
		sdk.In(family, string(corev1.IPv4Protocol), string(corev1.IPv6Protocol))).
		Fields(family).Lazy().QuietOn(abi.QuietUpdate)
)

// Plugin is the servicecidr module (pkg/controller/servicecidrs).
var Plugin = &sdk.Plugin{
	Name:        "servicecidr",
	Version:     "1.0.0",
	Description: "Keeps ServiceCIDRs from being deleted while Services have addresses of them, and says that they are ready.",
	Controllers: []*sdk.Controller{{
		Name:           "service-cidr-controller",
		Queue:          "ipaddresses",
		ServiceAccount: "service-cidrs-controller",
		EventSource:    "service-cidr-controller",
		Reads:          sdk.Views{cidrs, all, addresses},
		Writes: sdk.Writes{
			networkingv1.ServiceCIDRs.Verbs("patch"),
			networkingv1.ServiceCIDRs.Sub("status", "patch"),
			networkingv1.ServiceCIDRs.Sub("finalizers", "update"),
		},
		Workers: 5,
		Backoff: abi.Backoff{Retries: 15},
		State:   true,
		Sync:    sync,
	}},
}

func sync(c *sdk.Call) error {
	cidr, ok := cidrs.Get(c)
	switch {
	case !ok:
		return nil
	case !cidr.Deleting():
		return protect(c, cidr)
	}

	if inUse(c, cidr) {
		return setReady(c, cidr, metav1.ConditionFalse, networkingv1.ServiceCIDRReasonTerminating,
			"There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR")
	}

	if wait := cidr.DeletionTimestamp.Add(grace).Sub(c.Now()); wait > 0 {
		return c.After(wait)
	}
	if cidr.HasFinalizer(finalizer) {
		c.Add(patchFinalizers(cidr, "$deleteFromPrimitiveList/finalizers"))
	}
	return nil
}

// protect has the ServiceCIDR stay when it is deleted, and be used from now on.
func protect(c *sdk.Call, cidr *networkingv1.ServiceCIDR) error {
	if !cidr.HasFinalizer(finalizer) {
		if err := c.Do(patchFinalizers(cidr, "finalizers")); err != nil {
			return err
		}
	}

	err := setReady(c, cidr, metav1.ConditionTrue, "", "Kubernetes Service CIDR is ready")
	if err != nil {
		c.Event(cidr, corev1.EventTypeWarning, "KubernetesServiceCIDRError",
			"The ServiceCIDR Status can not be set to Ready=True")
	}
	return err
}

// patchFinalizers is the patch that has the finalizer in this member of the metadata.
func patchFinalizers(cidr *networkingv1.ServiceCIDR, member string) sdk.Effect {
	return sdk.Patch(cidr, abi.StrategicPatch, []byte(`{"metadata":{"`+member+`":["`+finalizer+`"]}}`),
		sdk.Tolerate(abi.TolerateNotFound))
}

// setReady has the condition Ready be so. Nobody else's conditions are touched.
func setReady(c *sdk.Call, cidr *networkingv1.ServiceCIDR, status metav1.ConditionStatus,
	reason, message string) error {
	have := conditions.Find(cidr.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
	if have != nil && have.Status == status && have.Reason == reason && have.Message == message {
		return nil
	}

	applied := &networkingv1.ServiceCIDR{}
	applied.Name = cidr.Name
	applied.Status.Conditions = []metav1.Condition{{
		Type: networkingv1.ServiceCIDRConditionReady, Status: status, Reason: reason, Message: message,
		LastTransitionTime: c.Now().Truncate(),
	}}
	return c.Do(sdk.ApplyStatus(applied))
}

// inUse reports whether a Service has an address that no other ServiceCIDR has. It finds one such address and keeps
// its name in the state: as long as that one is there no other is looked at, and nothing but its end wakes the key.
func inUse(c *sdk.Call, cidr *networkingv1.ServiceCIDR) bool {
	if name := string(c.State()); name != "" && orphaned(c, cidr, abi.Ask{Names: []string{name}}) != "" {
		return true
	}
	name := orphaned(c, cidr, abi.Ask{})
	c.SetState([]byte(name))
	return name != ""
}

// orphaned returns the name of one of the addresses asked for that only this ServiceCIDR has, empty where there is
// none. An address counts by the family that its label says.
func orphaned(c *sdk.Call, cidr *networkingv1.ServiceCIDR, ask abi.Ask) string {
	everyCIDR := all.List(c)
	for _, o := range addresses.Ask(c, ask) {
		a, _ := netip.ParseAddr(o.Name) // no prefix has what is no address
		isIPv6 := o.Labels.Get(networkingv1.LabelIPAddressFamily) == string(corev1.IPv6Protocol)
		ofFamily := func(prefix string) bool { return strings.Contains(prefix, ":") == isIPv6 }
		others := func(x *networkingv1.ServiceCIDR) bool { return x.Name != cidr.Name && has(x, a) }
		if slices.ContainsFunc(cidr.Spec.CIDRs, ofFamily) && has(cidr, a) && !slices.ContainsFunc(everyCIDR, others) {
			return o.Name
		}
	}
	return ""
}

// has reports whether a Service can have the address out of the ServiceCIDR: none is given the first address of a
// prefix, nor of IPv4 the last one (pkg/api/servicecidr).
func has(cidr *networkingv1.ServiceCIDR, a netip.Addr) bool {
	return slices.ContainsFunc(cidr.Spec.CIDRs, func(text string) bool {
		p, err := netip.ParsePrefix(text)
		return err == nil && p.Contains(a) && p.Contains(a.Prev()) && (a.Is6() || p.Contains(a.Next()))
	})
}
