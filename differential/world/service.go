package world

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Service returns a service of that name: with or without a selector, ports and an address, of one family or of two.
func (r *Rand) Service(name, namespace string) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: namespace, UID: r.UID(), CreationTimestamp: r.Ago(3000),
	}}
	if r.One(2) {
		s.Labels = r.Labels("web")
	}

	if r.One(8) {
		s.Labels = map[string]string{
			Of(r, corev1.IsHeadlessService, "kubernetes.io/service-name", "endpointslice.kubernetes.io/managed-by",
				"endpoints.kubernetes.io/managed-by", "endpointslice.kubernetes.io/skip-mirror"): Of(r, "", "x"),
		}
	}
	if r.One(12) {
		s.Annotations = map[string]string{"example.com/note": "a"}
	}

	r.Ports(s)
	r.Families(s)
	r.Selector(s)
	s.Spec.PublishNotReadyAddresses = r.One(5)
	if r.One(12) {
		s.Finalizers = []string{"example.com/stay"}
	}

	if r.One(14) {
		r.End(s)
	}
	return s
}

// Selector gives a service a selector, or none.
func (r *Rand) Selector(s *corev1.Service) {
	s.Spec.Selector = map[string]string{"app": "web"}
	switch r.IntN(12) {
	case 0:
		s.Spec.Selector = nil
	case 1:
		s.Spec.Selector = map[string]string{"app": Of(r, "db", "nobody")}
	case 2:
		s.Spec.Selector["tier"] = Of(r, "front", "back")
	}
}

// Ports gives a service ports: by number or by name, of any protocol, or none.
func (r *Rand) Ports(s *corev1.Service) {
	s.Spec.Ports = nil
	n := Of(r, 1, 1, 1, 2, 2, 3, 0)
	for i := range n {
		p := corev1.ServicePort{
			Port:     int32(80 + i),
			Protocol: Of(r, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP),
		}
		if n > 1 || r.One(2) {
			p.Name = []string{"http", "metrics", "dns"}[i]
		}
		p.TargetPort = Of(
			r,
			intstr.FromInt32(p.Port),
			intstr.FromInt32(8080),
			intstr.FromString("http"),
			intstr.FromString("http"),
			intstr.FromString("metrics"),
		)
		if r.One(6) {
			p.AppProtocol = Ptr(Of(r, "kubernetes.io/h2c", "http"))
		}
		s.Spec.Ports = append(s.Spec.Ports, p)
	}
}

// Families gives a service its type, and addresses of one family, of both, or of none.
func (r *Rand) Families(s *corev1.Service) {
	s.Spec.Type = Of(
		r,
		corev1.ServiceTypeClusterIP,
		corev1.ServiceTypeClusterIP,
		corev1.ServiceTypeClusterIP,
		corev1.ServiceTypeNodePort,
		corev1.ServiceTypeLoadBalancer,
	)

	s.Spec.ExternalName = ""
	if r.One(14) {
		s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeExternalName, "example.com"
		s.Spec.ClusterIP, s.Spec.ClusterIPs, s.Spec.IPFamilies, s.Spec.IPFamilyPolicy = "", nil, nil, nil
		return
	}

	four, six := corev1.IPv4Protocol, corev1.IPv6Protocol
	s.Spec.IPFamilies = Of(
		r,
		[]corev1.IPFamily{four},
		[]corev1.IPFamily{four},
		[]corev1.IPFamily{four},
		[]corev1.IPFamily{six},
		[]corev1.IPFamily{four, six},
		[]corev1.IPFamily{six, four},
	)

	s.Spec.ClusterIPs = nil
	for _, f := range s.Spec.IPFamilies {
		s.Spec.ClusterIPs = append(s.Spec.ClusterIPs, map[corev1.IPFamily]string{four: "10.96.0.7", six: "fd00:96::7"}[f])
	}

	s.Spec.IPFamilyPolicy = Ptr(corev1.IPFamilyPolicySingleStack)
	if len(s.Spec.IPFamilies) == 2 {
		s.Spec.IPFamilyPolicy = Ptr(Of(r, corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack))
	}

	s.Spec.ClusterIP = s.Spec.ClusterIPs[0]
	switch r.IntN(10) {
	case 0, 1: // headless
		s.Spec.Type, s.Spec.ClusterIP, s.Spec.ClusterIPs = corev1.ServiceTypeClusterIP, corev1.ClusterIPNone, []string{
			corev1.ClusterIPNone,
		}
	case 2: // of a server that knew no families
		s.Spec.IPFamilies, s.Spec.IPFamilyPolicy = nil, nil
		if r.One(2) {
			s.Spec.Type, s.Spec.ClusterIP, s.Spec.ClusterIPs = corev1.ServiceTypeClusterIP, corev1.ClusterIPNone, []string{
				corev1.ClusterIPNone,
			}
		}
	}
}

// Endpoint returns a pod that may be behind services, with addresses of its own, of its node, or without.
func (r *Rand) Endpoint(name, namespace string, nodes int) *corev1.Pod {
	p := r.Pod(name, r.Labels("web"), r.PodSpec())
	p.Namespace = namespace
	p.Spec.ServiceAccountName, p.Spec.Tolerations, p.Spec.SchedulingGates = "", nil, nil
	if p.Spec.NodeName != "" {
		p.Spec.NodeName = fmt.Sprintf("node-%d", r.IntN(nodes))
	}
	for i := range p.Spec.Containers {
		p.Spec.Containers[i].Ports = r.containerPorts()
	}
	for i := range p.Spec.InitContainers {
		p.Spec.InitContainers[i].Ports = r.containerPorts()
		if r.One(2) {
			p.Spec.InitContainers[i].RestartPolicy = Ptr(corev1.ContainerRestartPolicyAlways)
		}
	}
	if r.One(4) {
		p.Spec.Hostname = Of(r, "a", "b")
	}
	if r.One(3) {
		p.Spec.Subdomain = Of(r, "web", "web", "db")
	}
	r.Addresses(p)
	return p
}

func (r *Rand) containerPorts() (all []corev1.ContainerPort) {
	if !r.One(4) {
		all = append(all, corev1.ContainerPort{Name: "http", ContainerPort: int32(Of(r, 80, 80, 8080)),
			Protocol: Of(r, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP)})
	}
	if r.One(3) {
		all = append(all, corev1.ContainerPort{Name: "metrics", ContainerPort: 9090, Protocol: corev1.ProtocolTCP})
	}
	return all
}

// Addresses gives a pod addresses, or takes them.
func (r *Rand) Addresses(p *corev1.Pod) {
	p.Status.PodIP, p.Status.PodIPs, p.Status.HostIP, p.Status.HostIPs = "", nil, "", nil
	if p.Spec.NodeName == "" || r.One(12) {
		return
	}
	n := r.IntN(250)
	four, six := corev1.PodIP{IP: fmt.Sprintf("10.0.%d.%d", n%3, n)}, corev1.PodIP{IP: fmt.Sprintf("fd00::%x", n)}
	if p.Spec.HostNetwork = r.One(10); p.Spec.HostNetwork {
		four.IP, six.IP = "192.168.0.1", "fd00:1::1"
	}
	p.Status.PodIPs = Of(
		r,
		[]corev1.PodIP{four},
		[]corev1.PodIP{four},
		[]corev1.PodIP{four, six},
		[]corev1.PodIP{six, four},
		[]corev1.PodIP{six},
	)
	if r.One(30) {
		p.Status.PodIPs = []corev1.PodIP{{IP: Of(r, "010.000.001.002", "fd00:0:0:0::7", "::ffff:10.9.9.9")}}
	}
	p.Status.PodIP = p.Status.PodIPs[0].IP
}

// Node returns a node in one of few zones, perhaps ready, perhaps one of the control plane.
func (r *Rand) Node(name string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: r.UID(), CreationTimestamp: r.Ago(9000)}}
	r.Place(n)
	if r.One(12) {
		r.End(n)
	}
	return n
}

// Place gives a node a zone, a capacity and a condition.
func (r *Rand) Place(n *corev1.Node) {
	n.Labels = map[string]string{corev1.LabelTopologyZone: Of(r, "a", "b", "c")}
	if r.One(15) {
		n.Labels = nil
	}

	if r.One(10) {
		n.Labels = map[string]string{
			Of(r, "node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"): "",
			corev1.LabelTopologyZone: Of(r, "a", "b"),
		}
	}

	n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(Of(r, "4", "4", "2", "1500m"))}
	if r.One(20) {
		n.Status.Allocatable = nil
	}

	n.Status.Capacity = n.Status.Allocatable
	n.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
		{
			Type: corev1.NodeReady,
			Status: Of(
				r,
				corev1.ConditionTrue,
				corev1.ConditionTrue,
				corev1.ConditionTrue,
				corev1.ConditionTrue,
				corev1.ConditionTrue,
				corev1.ConditionFalse,
				corev1.ConditionUnknown,
			),
		},
	}
}

// LiveThere changes the life of a pod that keeps its addresses.
func (r *Rand) LiveThere(p *corev1.Pod) {
	ips := p.Status.PodIPs
	r.Live(p)
	if p.Status.PodIPs = ips; len(ips) > 0 {
		p.Status.PodIP = ips[0].IP
	}
}
