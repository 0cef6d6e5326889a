package endpoints

import (
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// sameSubsets reports whether the Endpoints have these subsets, in whatever order.
func sameSubsets(s *corev1.Service, have []corev1.EndpointSubset, want []subset) bool {
	if len(have) != len(want) {
		return false
	}
next:
	for i := range want {
		for k := range have {
			if samePorts(have[k].Ports, want[i].ports) {
				if !sameAddresses(s, have[k].Addresses, want[i].ready) ||
					!sameAddresses(s, have[k].NotReadyAddresses, want[i].notReady) {
					return false
				}
				continue next
			}
		}
		return false
	}
	return true
}

func samePorts(have, want []corev1.EndpointPort) bool {
	if len(have) != len(want) {
		return false
	}
next:
	for i := range want {
		w := &want[i]
		for k := range have {
			h := &have[k]
			if h.Name == w.Name && h.Port == w.Port && h.Protocol == w.Protocol &&
				(h.AppProtocol == nil) == (w.AppProtocol == nil) && (h.AppProtocol == nil || *h.AppProtocol == *w.AppProtocol) {
				continue next
			}
		}
		return false
	}
	return true
}

func sameAddresses(s *corev1.Service, have []corev1.EndpointAddress, want []*address) bool {
	if len(have) != len(want) {
		return false
	}
	for i, w := range want {
		h, node := &have[i], ""
		if h.NodeName != nil {
			node = *h.NodeName
		}
		if h.IP != w.ip || node != w.pod.Spec.NodeName || h.Hostname != w.pod.Hostname(s) || !w.pod.IsAt(h.TargetRef) {
			return false
		}
	}
	return true
}

// written are the subsets as Endpoints hold them.
func written(s *corev1.Service, subsets []subset) []corev1.EndpointSubset {
	all := make([]corev1.EndpointSubset, len(subsets))
	for i := range subsets {
		b := &subsets[i]
		all[i] = corev1.EndpointSubset{Ports: b.ports, Addresses: endpointAddresses(s, b.ready),
			NotReadyAddresses: endpointAddresses(s, b.notReady)}
	}
	return all
}

func endpointAddresses(s *corev1.Service, l []*address) []corev1.EndpointAddress {
	if len(l) == 0 {
		return nil
	}
	all := make([]corev1.EndpointAddress, len(l))
	for i, a := range l {
		all[i] = corev1.EndpointAddress{IP: a.ip, Hostname: a.pod.Hostname(s), NodeName: &a.pod.Spec.NodeName,
			TargetRef: a.pod.Ref()}
	}
	return all
}
