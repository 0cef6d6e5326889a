package endpoint

import (
	"github.com/windlass-dev/windlass/abi/wire"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// Unresolved is the number of a port that a pod doesn't have.
const Unresolved = -1

// Port is the number of the port of the pod that the service's port leads to. A name is looked for in the containers,
// then in the init containers that go on running.
func Port(p *Pod, s *corev1.ServicePort) int32 {
	if s.TargetPort.Type != wire.Text {
		return s.TargetPort.IntVal
	}
	for _, b := range p.Spec.Containers {
		if n := namedPort(readContainer(b).Ports, s); n != Unresolved {
			return n
		}
	}
	for _, b := range p.Spec.InitContainers {
		c := readContainer(b)
		if c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			continue
		}
		if n := namedPort(c.Ports, s); n != Unresolved {
			return n
		}
	}
	return Unresolved
}

func namedPort(ports []corev1.ContainerPort, s *corev1.ServicePort) int32 {
	for i := range ports {
		if q := &ports[i]; q.Name == s.TargetPort.StrVal && q.Protocol == s.Protocol {
			return q.ContainerPort
		}
	}
	return Unresolved
}

// PortGroups sorts pods by the numbers that a service's ports lead to: one group, unless a port is given by the name of
// a container's port.
type PortGroups struct {
	// Numbers are, by group, the numbers of the service's ports, [Unresolved] where the pods have none.
	Numbers [][]int32
	service *corev1.Service
	named   bool
	room    []int32
}

// NewPortGroups makes the groups of a service, of which there are none yet.
func NewPortGroups(s *corev1.Service) *PortGroups {
	g := &PortGroups{service: s, room: make([]int32, len(s.Spec.Ports))}
	for i := range s.Spec.Ports {
		g.named = g.named || s.Spec.Ports[i].TargetPort.Type == wire.Text
	}
	return g
}

// Of returns the pod's group.
func (g *PortGroups) Of(p *Pod) int {
	if !g.named && len(g.Numbers) > 0 {
		return 0
	}
	for i := range g.room {
		g.room[i] = Port(p, &g.service.Spec.Ports[i])
	}
next:
	for i, numbers := range g.Numbers {
		for k, n := range numbers {
			if g.room[k] != n {
				continue next
			}
		}
		return i
	}
	g.Numbers = append(g.Numbers, append([]int32(nil), g.room...))
	return len(g.Numbers) - 1
}
