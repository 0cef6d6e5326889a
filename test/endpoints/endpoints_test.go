package endpoints

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

var controllers = []string{"endpoints-controller", "endpointslice-controller"}

// Windlass and the native manager write the same for the same services, and neither has anything to write where the other did the work.
func TestAgreesWithNative(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 3, Audit: true})
	w := world{client(c)}
	if err := w.create(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, w)

	m := windlass.Start(t, c, windlass.Options{Controllers: controllers})
	complete(t, w)
	settle(t, c)
	m.Stop(t)
	windlass.ExpectRoles(t, c)
	ours := look(t, w)

	since := time.Now()
	stop := c.Native(t, controllers)
	probe(t, w, "probe-native")
	settle(t, c)
	// How many writes the new service costs the native manager is its own affair: it may see the pods one by one, and create again what its cache doesn't show yet.
	if expectNoWrites(t, c, since, "probe-native") == 0 {
		t.Error("the native manager did nothing")
	}
	stop()

	wipe(t, w)
	stop = c.Native(t, controllers)
	complete(t, w)
	settle(t, c)
	stop()
	theirs := look(t, w)
	if d := gocmp.Diff(theirs, ours); d != "" {
		t.Errorf("Windlass writes otherwise than the native manager (-native +windlass):\n%s", d)
	}

	since = time.Now()
	m = windlass.Start(t, c, windlass.Options{Controllers: controllers})
	probe(t, w, "probe-windlass")
	settle(t, c)
	if creates := expectNoWrites(t, c, since, "probe-windlass"); creates != 2 {
		t.Errorf("%d creates for a new service, expected its Endpoints and one slice", creates)
	}
	m.Stop(t)
}

// A service's life: what happens to it and its pods is soon in its endpoints.
func TestLife(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 3, Audit: true})
	w := world{client(c)}
	m := windlass.Start(t, c, windlass.Options{Controllers: controllers})
	if err := w.create(t.Context()); err != nil {
		t.Fatal(err)
	}
	complete(t, w)
	ctx := t.Context()
	pods, svcs := w.client.CoreV1().Pods(namespace), w.client.CoreV1().Services(namespace)

	t.Log("a pod is no longer ready")
	flip := metav1.NewTime(time.Now().Add(time.Minute).Truncate(time.Second)) // not in the second in which it became ready
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":"False","lastTransitionTime":%q}]}}`, flip.UTC().Format(time.RFC3339))
	_, err := pods.Patch(ctx, "web-a", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	must(t, err)
	eventually(t, w, "number", "5 of 6 ready", func(s seen) bool {
		return s.ready["IPv4"] == 5 && s.all["IPv4"] == 6 && s.addresses == 5 && s.notReady == 1
	})
	for _, o := range annotated(t, w, "number") {
		if got := o[corev1.EndpointsLastChangeTriggerTime]; got != flip.UTC().Format(time.RFC3339) {
			t.Errorf("the trigger time is %q, the pod changed at %v", got, flip.UTC())
		}
	}

	t.Log("a new pod")
	must(t, w.pod(ctx, pod("web-z", "web", 1, 8080)))
	eventually(t, w, "dual", "7 addresses in each family", func(s seen) bool { return s.all["IPv4"] == 7 && s.all["IPv6"] == 7 && s.addresses+s.notReady == 7 })

	t.Log("pods leave the service by their labels or by being deleted")
	_, err = pods.Patch(ctx, "web-b", types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"debug"}}}`), metav1.PatchOptions{})
	must(t, err)
	must(t, pods.Delete(ctx, "web-c", metav1.DeleteOptions{}))
	eventually(t, w, "number", "5 are left", func(s seen) bool { return s.all["IPv4"] == 5 && s.addresses+s.notReady == 5 })

	t.Log("the service's labels")
	_, err = svcs.Patch(ctx, "number", types.MergePatchType, []byte(`{"metadata":{"labels":{"tier":"back"}}}`), metav1.PatchOptions{})
	must(t, err)
	eventually(t, w, "number", "the new label", func(s seen) bool { return s.label("tier") == "back" })

	t.Log("the service's port")
	_, err = svcs.Patch(ctx, "number", types.StrategicMergePatchType, []byte(`{"spec":{"ports":[{"port":80,"targetPort":8443}]}}`), metav1.PatchOptions{})
	must(t, err)
	eventually(t, w, "number", "the new port", func(s seen) bool {
		return s.slices == 1 && s.port == 8443 && s.subsetPort == 8443 && s.all["IPv4"] == 5
	})

	t.Log("someone deletes what is ours")
	must(t, w.client.CoreV1().Endpoints(namespace).Delete(ctx, "number", metav1.DeleteOptions{}))
	must(t, w.client.DiscoveryV1().EndpointSlices(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=number"}))
	eventually(t, w, "number", "it is back", func(s seen) bool { return s.all["IPv4"] == 5 && s.addresses+s.notReady == 5 })

	t.Log("a pod's node is unknown")
	lost := pod("web-lost", "web", 0, 8080)
	lost.Spec.NodeName = "nowhere"
	must(t, w.pod(ctx, lost))
	_, err = pods.Patch(ctx, "web-lost", types.MergePatchType, []byte(`{"status":{"phase":"Running","podIP":"10.9.9.9","podIPs":[{"ip":"10.9.9.9"}]}}`), metav1.PatchOptions{}, "status")
	must(t, err)
	eventually(t, w, "number", "in the Endpoints alone", func(s seen) bool { return s.all["IPv4"] == 5 && s.addresses+s.notReady == 6 })
	windlass.Eventually(t, time.Minute, "an event", func() (bool, string) {
		l, err := w.client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=FailedToUpdateEndpointSlices,involvedObject.name=number"})
		return err == nil && len(l.Items) > 0 && strings.Contains(l.Items[0].Message, "skipping Pod web-lost for Service default/number: Node nowhere Not Found"), fmt.Sprint(l, err)
	})
	_, err = w.client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "nowhere"}}, metav1.CreateOptions{})
	must(t, err)
	eventually(t, w, "number", "in both", func(s seen) bool { return s.all["IPv4"] == 6 && s.addresses+s.notReady == 6 })

	t.Log("the service goes")
	must(t, svcs.Delete(ctx, "number", metav1.DeleteOptions{}))
	eventually(t, w, "number", "no Endpoints", func(s seen) bool { return s.endpoints == nil })
	m.Stop(t)

	t.Log("and goes while nobody looks")
	must(t, svcs.Delete(ctx, "dual", metav1.DeleteOptions{}))
	m = windlass.Start(t, c, windlass.Options{Controllers: controllers})
	eventually(t, w, "dual", "no Endpoints", func(s seen) bool { return s.endpoints == nil })
	windlass.ExpectRoles(t, c)
	m.Stop(t)
}

// client prints no warning that Endpoints are deprecated.
func client(c *cluster.Cluster) kubernetes.Interface {
	config := c.RESTConfig()
	config.WarningHandler = rest.NoWarnings{}
	return kubernetes.NewForConfigOrDie(config)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// seen is what a service's endpoints say.
type seen struct {
	endpoints           *corev1.Endpoints
	list                []discoveryv1.EndpointSlice
	slices              int
	all, ready          map[string]int // in slices, by address type
	addresses, notReady int            // in subsets
	port, subsetPort    int32
}

// label is a label that all have, empty where they differ.
func (s seen) label(key string) string {
	if s.endpoints == nil {
		return ""
	}
	v := s.endpoints.Labels[key]
	for _, x := range s.list {
		if x.Labels[key] != v {
			return ""
		}
	}
	return v
}

func see(t *testing.T, w world, service string) seen {
	t.Helper()
	s := seen{all: map[string]int{}, ready: map[string]int{}}
	l, err := w.client.DiscoveryV1().EndpointSlices(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
	must(t, err)
	s.list, s.slices = l.Items, len(l.Items)
	for _, x := range l.Items {
		for _, e := range x.Endpoints {
			s.all[string(x.AddressType)]++
			if *e.Conditions.Ready {
				s.ready[string(x.AddressType)]++
			}
		}
		for _, p := range x.Ports {
			s.port = *p.Port
		}
	}
	e, err := w.client.CoreV1().Endpoints(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + service})
	must(t, err)
	for i := range e.Items {
		s.endpoints = &e.Items[i]
		for _, b := range e.Items[i].Subsets {
			s.addresses += len(b.Addresses)
			s.notReady += len(b.NotReadyAddresses)
			for _, p := range b.Ports {
				s.subsetPort = p.Port
			}
		}
	}
	return s
}

func eventually(t *testing.T, w world, service, what string, ok func(seen) bool) {
	t.Helper()
	windlass.Eventually(t, time.Minute, service+": "+what, func() (bool, string) {
		s := see(t, w, service)
		return ok(s), fmt.Sprintf("%+v", s)
	})
}

func annotated(t *testing.T, w world, service string) []map[string]string {
	s := see(t, w, service)
	all := []map[string]string{s.endpoints.Annotations}
	for _, x := range s.list {
		all = append(all, x.Annotations)
	}
	return all
}

// awaitReady waits until all pods are ready with their addresses.
func awaitReady(t *testing.T, w world) {
	t.Helper()
	windlass.Eventually(t, time.Minute, "ready pods", func() (bool, string) {
		l, err := w.client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		must(t, err)
		for _, p := range l.Items {
			if !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }) || len(p.Status.PodIPs) != 2 {
				return false, fmt.Sprint(p.Name, p.Status)
			}
		}
		return true, ""
	})
}

// complete waits until each service has what its pods make of it.
func complete(t *testing.T, w world) {
	t.Helper()
	awaitReady(t, w)
	want := map[string]int{"number": 6, "name": 6, "sidecar": 2, "dual": 6, "six": 6, "db": 2, "bare": 2, "empty": 0, "zone": 6, "node": 6, "auto": 6}
	for service, n := range want {
		eventually(t, w, service, "complete", func(s seen) bool {
			in4, in6 := s.ready["IPv4"], s.ready["IPv6"]
			if service == "dual" && in6 != n {
				return false
			}
			return s.endpoints != nil && s.slices > 0 && max(in4, in6) == n && (service == "name" || s.addresses == n)
		})
	}
	eventually(t, w, "name", "complete", func(s seen) bool { return s.addresses == 6+5 && s.slices == 3 })
	eventually(t, w, "manual", "nothing", func(s seen) bool { return s.endpoints == nil && s.slices == 0 })
}

// thing is an Endpoints object or a slice without what is by chance.
type thing struct {
	Of, Generate string
	Labels       map[string]string
	Owners       []metav1.OwnerReference
	Type         discoveryv1.AddressType
	Ports        []discoveryv1.EndpointPort
	Endpoints    []discoveryv1.Endpoint
	Subsets      []corev1.EndpointSubset
}

// look gives everything in an order of its own.
func look(t *testing.T, w world) (all []thing) {
	t.Helper()
	l, err := w.client.DiscoveryV1().EndpointSlices(namespace).List(t.Context(), metav1.ListOptions{})
	must(t, err)
	for _, s := range l.Items {
		if s.Labels[discoveryv1.LabelManagedBy] != "endpointslice-controller.k8s.io" {
			continue
		}
		slices.SortFunc(s.Endpoints, func(a, b discoveryv1.Endpoint) int { return cmp.Compare(a.Addresses[0], b.Addresses[0]) })
		slices.SortFunc(s.Ports, func(a, b discoveryv1.EndpointPort) int { return cmp.Compare(*a.Name, *b.Name) })
		all = append(all, thing{Of: s.Labels[discoveryv1.LabelServiceName], Generate: s.GenerateName, Labels: s.Labels, Owners: s.OwnerReferences, Type: s.AddressType, Ports: s.Ports, Endpoints: s.Endpoints})
	}
	e, err := w.client.CoreV1().Endpoints(namespace).List(t.Context(), metav1.ListOptions{})
	must(t, err)
	for _, x := range e.Items {
		if x.Name != "kubernetes" && !strings.HasPrefix(x.Name, "probe") {
			for _, b := range x.Subsets {
				slices.SortFunc(b.Ports, func(a, b corev1.EndpointPort) int { return cmp.Compare(a.Name, b.Name) })
			}
			// Their order is by hashes.
			slices.SortFunc(x.Subsets, func(a, b corev1.EndpointSubset) int { return cmp.Compare(fmt.Sprint(a.Ports), fmt.Sprint(b.Ports)) })
			all = append(all, thing{Of: x.Name, Labels: x.Labels, Subsets: x.Subsets})
		}
	}
	all = slices.DeleteFunc(all, func(x thing) bool { return strings.HasPrefix(x.Of, "probe") })
	slices.SortFunc(all, func(a, b thing) int { return cmp.Compare(order(a), order(b)) })
	return all
}

func order(x thing) string {
	s := x.Of + " " + string(x.Type)
	for _, p := range x.Ports {
		s += fmt.Sprint(" ", *p.Name, *p.Port)
	}
	return s
}

// probe makes a service and waits until it has all that it gets, so that whoever runs has had the chance to write.
func probe(t *testing.T, w world, name string) {
	t.Helper()
	_, err := w.client.CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{})
	must(t, err)
	eventually(t, w, name, "complete", func(s seen) bool { return s.all["IPv4"] == 6 && s.addresses == 6 })
}

// wipe deletes all Endpoints and slices but the API server's own.
func wipe(t *testing.T, w world) {
	t.Helper()
	not := metav1.ListOptions{LabelSelector: discoveryv1.LabelManagedBy + "=endpointslice-controller.k8s.io"}
	must(t, w.client.DiscoveryV1().EndpointSlices(namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, not))
	must(t, w.client.CoreV1().Endpoints(namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name!=kubernetes"}))
}

func writes(t *testing.T, c *cluster.Cluster, since time.Time) []cluster.Event {
	return c.Audit(t, cluster.Filter{Verbs: cluster.Writes, Resources: []string{"endpoints", "endpointslices"}, Namespace: namespace, Since: since,
		Users: []string{"system:serviceaccount:kube-system:endpoint-controller", "system:serviceaccount:kube-system:endpointslice-controller"}})
}

// settle waits until nobody has written for two seconds: slices are looked at again one second after they changed.
func settle(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	windlass.Settle(t, 2*time.Second, func(since time.Time) []cluster.Event { return writes(t, c, since) })
}

// expectNoWrites allows creates and updates for one service, and tells how many creates there were.
func expectNoWrites(t *testing.T, c *cluster.Cluster, since time.Time, but string) (creates int) {
	t.Helper()
	for _, e := range writes(t, c, since) {
		// A create of a slice has a generated name.
		its := strings.HasPrefix(e.Name, but) || e.Verb == "create" && e.Name == ""
		switch {
		case its && e.Verb == "create":
			creates++
		case its && e.Verb == "update":
		default:
			t.Errorf("a write where there was nothing to do: %v", e)
		}
	}
	return creates
}
