package servicecidr

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/kubernetes/pkg/controller/servicecidrs"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/servicecidr"
)

//go:linkname process k8s.io/kubernetes/pkg/controller/servicecidrs.(*Controller).processNext
func process(*upstream.Controller, context.Context) bool

var (
	cidrs     = networkingv1.SchemeGroupVersion.WithResource("servicecidrs")
	addresses = networkingv1.SchemeGroupVersion.WithResource("ipaddresses")
)

func TestAsUpstream(t *testing.T) { differential.Run(t, subject()) }

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject()) }

func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "service-cidr-controller",
		Plugin:     servicecidr.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			f := e.Informers.Networking().V1()
			c := upstream.NewController(e.Context, f.ServiceCIDRs(), f.IPAddresses(), e.Client)
			return &native.Made{Controller: c, Process: func(ctx context.Context) bool { return process(c, ctx) }}, nil
		},
		World: objects,
		Steps: 6,
		Deeds: []differential.Deed{
			differential.Appear(func(r *world.Rand) runtime.Object { return cidr(r, world.Of(r, names...)) }),
			differential.Appear(func(r *world.Rand) runtime.Object { return cidr(r, world.Of(r, names...)) }),
			differential.Vary(cidrs, "a second family", func(r *world.Rand, c *networkingv1.ServiceCIDR) { second(r, c) }),
			differential.Vary(cidrs, "other finalizers", func(r *world.Rand, c *networkingv1.ServiceCIDR) {
				c.Finalizers = finalizers(r)
				if c.DeletionTimestamp != nil && len(c.Finalizers) == 0 {
					c.Finalizers = []string{"example.com/stay"}
				}
			}),
			differential.Vary(cidrs, "other conditions", func(r *world.Rand, c *networkingv1.ServiceCIDR) { status(r, c) }),
			differential.Vary(cidrs, "other labels", func(r *world.Rand, c *networkingv1.ServiceCIDR) {
				c.Labels = r.Labels("web")
			}),
			differential.Vary(cidrs, "the end", func(r *world.Rand, c *networkingv1.ServiceCIDR) { end(r, c) }),
			differential.Delete(cidrs),
			differential.Delete(cidrs),
			differential.Delete(cidrs),
			differential.Vanish(cidrs),
			differential.Appear(func(r *world.Rand) runtime.Object { return address(r) }),
			differential.Appear(func(r *world.Rand) runtime.Object { return address(r) }),
			differential.Appear(func(r *world.Rand) runtime.Object { return address(r) }),
			differential.Vary(addresses, "another annotation", func(r *world.Rand, a *networkingv1.IPAddress) {
				a.Annotations = map[string]string{"example.com/note": world.Of(r, "a", "b")}
			}),
			differential.Vanish(addresses),
			differential.Vanish(addresses),
			differential.Vanish(addresses),
			differential.Delete(addresses),
		},
		Faults: []string{"patch servicecidrs", "patch servicecidrs/status"},
	}
}

var (
	names = []string{"kubernetes", "first", "second", "third"}

	// Some are in others, some are equal, and some neither.
	prefixes4 = []string{"10.0.0.0/24", "10.0.0.0/24", "10.0.0.0/28", "10.0.0.16/28", "10.0.0.0/16", "10.0.1.0/30",
		"10.0.1.8/31", "10.0.1.9/32", "192.168.0.0/24"}
	prefixes6 = []string{"fd00::/120", "fd00::/120", "fd00::/124", "fd00::/64", "fd00::100/120", "fd00::108/127",
		"fd00:1::/120"}
)

// objects are some ServiceCIDRs, and addresses in some of them, or in none.
func objects(r *world.Rand) (all []runtime.Object) {
	for _, name := range names {
		if !r.One(3) {
			all = append(all, cidr(r, name))
		}
	}
	for range r.IntN(6) {
		all = append(all, address(r))
	}
	return all
}

func cidr(r *world.Rand, name string) *networkingv1.ServiceCIDR {
	c := &networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: r.UID(), CreationTimestamp: r.Ago(3000), Finalizers: finalizers(r)},
	}
	c.Spec.CIDRs = []string{world.Of(r, world.Of(r, prefixes4...), world.Of(r, prefixes6...))}
	if r.One(2) {
		second(r, c)
	}
	status(r, c)
	if r.One(4) {
		c.Labels = r.Labels("web")
	}
	if r.One(2) {
		end(r, c)
	}
	return c
}

// second has a ServiceCIDR of one family have both.
func second(r *world.Rand, c *networkingv1.ServiceCIDR) {
	if len(c.Spec.CIDRs) != 1 {
		return
	}
	other := prefixes6
	if !netip.MustParsePrefix(c.Spec.CIDRs[0]).Addr().Is4() {
		other = prefixes4
	}
	c.Spec.CIDRs = append(c.Spec.CIDRs, world.Of(r, other...))
}

// end has a ServiceCIDR be deleted, a moment or long ago.
func end(r *world.Rand, c *networkingv1.ServiceCIDR) {
	r.End(c)
	t := r.Ago(world.Of(r, 3, 15))
	c.DeletionTimestamp = &t
}

func finalizers(r *world.Rand) []string {
	const ours = upstream.ServiceCIDRProtectionFinalizer
	return world.Of(r, nil, []string{ours}, []string{ours}, []string{ours}, []string{"example.com/stay"},
		[]string{"example.com/stay", ours}, []string{ours, "example.com/stay"})
}

// status gives a ServiceCIDR the conditions that it should have, others, or none.
func status(r *world.Rand, c *networkingv1.ServiceCIDR) {
	c.Status.Conditions = nil
	if r.One(5) {
		c.Status.Conditions = []metav1.Condition{{
			Type: "example.com/Seen", Status: metav1.ConditionTrue, Reason: "Seen", LastTransitionTime: r.Ago(500),
		}}
	}
	if r.One(4) {
		return
	}

	ready := metav1.Condition{
		Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue,
		Message: "Kubernetes Service CIDR is ready", LastTransitionTime: r.Ago(500),
	}
	switch r.IntN(5) {
	case 0, 1:
		ready.Status, ready.Reason = metav1.ConditionFalse, networkingv1.ServiceCIDRReasonTerminating
		ready.Message = "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"
	case 2:
		ready.Reason, ready.Message = world.Of(r, "", "Because"), world.Of(r, ready.Message, "")
		ready.ObservedGeneration = int64(r.IntN(2))
	}
	c.Status.Conditions = append(c.Status.Conditions, ready)
}

// address is in most cases one that a Service may have, at the edge of a prefix or inside.
func address(r *world.Rand) *networkingv1.IPAddress {
	a := netip.MustParsePrefix(world.Of(r, world.Of(r, prefixes4...), world.Of(r, prefixes6...))).Addr()
	for range world.Of(r, 0, 1, 2, 9, 15, 16, 23, 255) {
		a = a.Next()
	}

	family := corev1.IPv6Protocol
	if a.Is4() {
		family = corev1.IPv4Protocol
	}
	if r.One(12) {
		family = world.Of(r, corev1.IPv4Protocol, corev1.IPv6Protocol)
	}
	o := &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{
			Name: a.String(), UID: r.UID(), CreationTimestamp: r.Ago(3000),
			Labels: map[string]string{
				networkingv1.LabelManagedBy:       world.Of(r, "ipallocator.k8s.io", "ipallocator.k8s.io", "example.com"),
				networkingv1.LabelIPAddressFamily: string(family),
			},
		},
		Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{
			Resource: "services", Namespace: world.Namespace, Name: fmt.Sprintf("web-%d", r.IntN(9)),
		}},
	}
	if r.One(10) {
		o.Finalizers = []string{"example.com/stay"}
	}
	return o
}
