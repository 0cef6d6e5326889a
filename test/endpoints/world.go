// Package endpoints checks on a real cluster that Windlass writes the endpoints that the native kube-controller-manager writes.
package endpoints

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
)

const namespace = "default"

// world is services of all kinds with pods on three nodes, one in each zone.
type world struct{ client kubernetes.Interface }

func (w world) create(ctx context.Context) error {
	if _, err := w.client.CoreV1().ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, p := range pods() {
		if err := w.pod(ctx, p); err != nil {
			return err
		}
	}
	for _, s := range services() {
		if _, err := w.client.CoreV1().Services(namespace).Create(ctx, s, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func (w world) pod(ctx context.Context, p *corev1.Pod) error {
	_, err := w.client.CoreV1().Pods(namespace).Create(ctx, p, metav1.CreateOptions{})
	return err
}

// pods are six with a port http that isn't the same for all, two more whose ports are a sidecar's, and two that a headless service names.
func pods() (all []*corev1.Pod) {
	for i, port := range []int32{8080, 8080, 8080, 8080, 9090, 0} {
		all = append(all, pod("web-"+string(rune('a'+i)), "web", i, port))
	}
	always := corev1.ContainerRestartPolicyAlways
	for i := range 2 {
		p := pod("mesh-"+string(rune('a'+i)), "mesh", i, 0)
		p.Spec.InitContainers = []corev1.Container{{Name: "proxy", Image: "proxy", RestartPolicy: &always, Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 15001}}}}
		all = append(all, p)
	}
	for i := range 2 {
		p := pod("db-"+string(rune('0'+i)), "db", i, 5432)
		p.Spec.Hostname, p.Spec.Subdomain = p.Name, "db"
		all = append(all, p)
	}
	return all
}

func pod(name, app string, node int, port int32) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{NodeName: "node-" + string(rune('0'+node%3)), Containers: []corev1.Container{{Name: "main", Image: "main"}}},
	}
	if port > 0 {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: port}}
	}
	return p
}

func services() (all []*corev1.Service) {
	dual, single, http := corev1.IPFamilyPolicyRequireDualStack, corev1.IPFamilyPolicySingleStack, "http"
	number, name := intstr.FromInt32(80), intstr.FromString("http")
	add := func(name, app string, change func(*corev1.Service), ports ...corev1.ServicePort) {
		s := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app, "tier": "front"}},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": app}, Ports: ports},
		}
		if change != nil {
			change(s)
		}
		all = append(all, s)
	}
	headless := func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }
	near := func(d string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.TrafficDistribution = &d }
	}
	add("number", "web", nil, corev1.ServicePort{Port: 80, TargetPort: number, AppProtocol: &http})
	add("name", "web", nil, corev1.ServicePort{Name: "http", Port: 80, TargetPort: name}, corev1.ServicePort{Name: "metrics", Port: 81, TargetPort: intstr.FromInt32(9100)},
		corev1.ServicePort{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromInt32(53)})
	add("sidecar", "mesh", nil, corev1.ServicePort{Port: 80, TargetPort: name})
	add("dual", "web", func(s *corev1.Service) { s.Spec.IPFamilyPolicy = &dual }, corev1.ServicePort{Port: 80, TargetPort: number})
	add("six", "web", func(s *corev1.Service) {
		s.Spec.IPFamilyPolicy, s.Spec.IPFamilies = &single, []corev1.IPFamily{corev1.IPv6Protocol}
	}, corev1.ServicePort{Port: 80, TargetPort: number})
	add("db", "db", func(s *corev1.Service) { headless(s); s.Spec.PublishNotReadyAddresses = true }, corev1.ServicePort{Port: 5432, TargetPort: name})
	add("bare", "db", headless)
	add("empty", "nobody", nil, corev1.ServicePort{Port: 80, TargetPort: number})
	add("zone", "web", near(corev1.ServiceTrafficDistributionPreferSameZone), corev1.ServicePort{Port: 80, TargetPort: number})
	add("node", "web", near(corev1.ServiceTrafficDistributionPreferSameNode), corev1.ServicePort{Port: 80, TargetPort: number})
	add("auto", "web", func(s *corev1.Service) { s.Annotations = map[string]string{corev1.AnnotationTopologyMode: "Auto"} }, corev1.ServicePort{Port: 80, TargetPort: number})
	add("manual", "x", func(s *corev1.Service) { s.Spec.Selector = nil }, corev1.ServicePort{Port: 80, TargetPort: number})
	return all
}
