package endpointslicemirroring

import (
	"fmt"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/test/module"
)

// newEndpoints returns Endpoints with so many subsets, each with an address and a port of its own.
func newEndpoints(subsets int) *corev1.Endpoints {
	e := &corev1.Endpoints{}
	e.Namespace, e.Name, e.UID = "default", "web", "u1"
	for i := range subsets {
		e.Subsets = append(e.Subsets, corev1.EndpointSubset{
			Addresses: []corev1.EndpointAddress{{IP: fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)}},
			Ports: []corev1.EndpointPort{{Name: fmt.Sprint("p-", i), Port: int32(i%60_000 + 1),
				Protocol: corev1.ProtocolTCP}},
		})
	}
	return e
}

func newRequest(e *corev1.Endpoints) *abi.SyncRequest {
	r := &abi.SyncRequest{Key: abi.KeyRef{Namespace: "default", Name: "web"}, Now: 1e18, Views: make([]abi.ViewData, 3)}
	module.Put(r, 0, e)
	r.Views[1].Count = 1
	return r
}

// Twice as many subsets take about twice as much work, for somebody may write thousands of them: with the square, the
// sync of 2,500 wouldn't end in its time.
func TestManySubsets(t *testing.T) {
	m := module.Open(t, Plugin)
	var took []int64
	for _, n := range []int{1250, 2500, 5000} {
		a, stats := m.Measure(t, newRequest(newEndpoints(n)), module.Succeed)
		if a.Error != "" || stats.Performs != n {
			t.Errorf("%d subsets: %d performs, error %q", n, stats.Performs, a.Error)
		}
		took = append(took, stats.Fuel)
	}
	if took[1] > 5*took[0]/2 || took[2] > 5*took[1]/2 {
		t.Errorf("1,250, 2,500 and 5,000 subsets took %d units of fuel: more than in proportion", took)
	}
	t.Log(took)
}

// Each slice has all labels and annotations of the Endpoints, which may have thousands: however many slices are
// written, what they are sent in is used again.
func TestManyLabels(t *testing.T) {
	m := module.Open(t, Plugin)
	var took []int64
	for _, subsets := range []int{1, 64} {
		e := newEndpoints(subsets)
		for i := range 5000 {
			e.Labels = append(e.Labels, wire.KV{Key: fmt.Sprintf("label-%04d", i), Value: "value"})
			e.Annotations = append(e.Annotations, wire.KV{Key: fmt.Sprintf("note-%04d", i), Value: "value"})
		}
		a, stats := m.Measure(t, newRequest(e), module.Succeed)
		if a.Error != "" || stats.Performs != subsets {
			t.Errorf("%d subsets: %d performs, error %q", subsets, stats.Performs, a.Error)
		}
		took = append(took, stats.Memory)
	}
	if took[1] > 4*took[0] {
		t.Errorf("one slice and 64 took %d bytes of memory: what the first was sent in isn't used again", took)
	}
	t.Log(took)
}

// What is in several subsets is put together: addresses by their ports, ports by their addresses.
func TestRepack(t *testing.T) {
	port := func(name string) corev1.EndpointPort { return corev1.EndpointPort{Name: name, Port: 80} }
	address := func(ip string) corev1.EndpointAddress { return corev1.EndpointAddress{IP: ip} }
	packed := repack([]corev1.EndpointSubset{
		{Addresses: []corev1.EndpointAddress{address("b"), address("a")}, Ports: []corev1.EndpointPort{port("x"), port("y")}},
		{NotReadyAddresses: []corev1.EndpointAddress{address("a")}, Ports: []corev1.EndpointPort{port("y")}},
		{Ports: []corev1.EndpointPort{port("nobody's")}},
		{Addresses: []corev1.EndpointAddress{address("c")}},
		{Addresses: []corev1.EndpointAddress{address("a")}, Ports: []corev1.EndpointPort{port("z")}},
		{Addresses: []corev1.EndpointAddress{address("b"), address("b")}, Ports: []corev1.EndpointPort{port("z"), port("z")}},
	})

	var got []string
	for _, s := range packed {
		text := ""
		for _, p := range s.ports {
			text += p.Name + " "
		}
		text += "of"
		for _, a := range s.addresses {
			text += " " + a.address.IP + map[readiness]string{ready: "", notReady: " not ready"}[a.is]
		}
		got = append(got, text)
	}
	want := []string{"x z of a b", "y of a not ready b", "of c"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("packed as %q, want %q", got, want)
	}
}
