package endpoint

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// The narrow pod reads what the whole one holds.
func TestPodReadsWhatPodsHold(t *testing.T) {
	always, deleted := corev1.ContainerRestartPolicyAlways, metav1.Unix(5, 0)
	whole := &corev1.Pod{}
	whole.Namespace, whole.Name, whole.UID, whole.DeletionTimestamp = "default", "web-a", "u", &deleted
	whole.Spec.NodeName, whole.Spec.Hostname, whole.Spec.Subdomain = "n", "h", "web"
	whole.Spec.Containers = []corev1.Container{{Name: "x",
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 80, Protocol: corev1.ProtocolTCP}}}}
	whole.Spec.InitContainers = []corev1.Container{{Name: "y", RestartPolicy: &always,
		Ports: []corev1.ContainerPort{{Name: "mesh", ContainerPort: 81, Protocol: corev1.ProtocolTCP}}}}
	whole.Spec.ServiceAccountName = "default"
	whole.Status.Phase, whole.Status.PodIP, whole.Status.PodIPs = corev1.PodRunning, "10.0.0.1",
		[]corev1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}}
	whole.Status.Conditions = []corev1.PodCondition{{Type: "Other", Message: "x"},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastProbeTime: metav1.Unix(6, 0),
			LastTransitionTime: metav1.Unix(7, 0)}}
	p := &Pod{}
	if err := resource.Decode(resource.Append(nil, whole), p); err != nil {
		t.Fatal(err)
	}

	ready, since := p.Ready()
	if !ready || since != metav1.Unix(7, 0) || !p.Deleting() || p.Eligible(false) || !p.Eligible(true) {
		t.Errorf("ready %v since %v, deleting %v", ready, since, p.Deleting())
	}

	if p.Spec.NodeName != "n" || p.Hostname(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}}) != "h" ||
		p.Hostname(&corev1.Service{}) != "" || len(p.Status.PodIPs) != 2 || p.Status.PodIPs[1].IP != "fd00::1" {
		t.Errorf("%+v", p)
	}

	for name, want := range map[string]int32{"http": 80, "mesh": 81, "x": Unresolved} {
		s := &corev1.ServicePort{Protocol: corev1.ProtocolTCP}
		s.TargetPort.Type, s.TargetPort.StrVal = 1, name
		if got := Port(p, s); got != want {
			t.Errorf("port %s is %d, want %d", name, got, want)
		}
	}

	if ref := p.Ref(); !p.IsAt(ref) || ref.Name != "web-a" {
		t.Errorf("%+v", ref)
	}
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		"10.0.0.1": "10.0.0.1", "010.000.0.01": "10.0.0.1", "255.255.255.255": "255.255.255.255", "256.0.0.1": "",
		"1.2.3": "", "1.2.3.4.5": "", "": "", "x": "", "1..2.3": "",
		"::": "::", "::1": "::1", "FD00::1": "fd00::1", "fd00:0:0:0:0:0:0:1": "fd00::1", "1:0:0:2:0:0:0:3": "1:0:0:2::3",
		"1:0:0:2:0:0:3:4": "1::2:0:0:3:4", "1:0:2:3:4:5:6:7": "1:0:2:3:4:5:6:7",
		"::ffff:10.0.0.1": "10.0.0.1", "64:ff9b::10.0.0.1": "64:ff9b::a00:1", "1:2:3:4:5:6:7": "", "1:2:3:4:5:6:7:8:9": "",
		"1::2::3": "", ":1": "", "1:": "", "12345::": "", "fe80::1%eth0": "", "::1.2.3.4.5": "",
	} {
		if got := Canonical(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

// Whatever net/netip takes for an address is written as it writes it; the rest is none, but for the zeros that netip
// minds.
func FuzzCanonicalIsNetips(f *testing.F) {
	for _, s := range []string{"10.0.0.1", "fd00::1", "::ffff:1.2.3.4", "1:2:3:4:5:6:7::", "::1.2.3.4", "01.2.3.4",
		"1:2::3:4:5:6:7:8"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := netip.ParseAddr(s)
		if err != nil && hasLeadingZeros(s) || a.Zone() != "" {
			return
		}
		want := ""
		if err == nil {
			want = a.Unmap().String()
		}
		if got := Canonical(s); got != want {
			t.Errorf("%q becomes %q, want %q", s, got, want)
		}
	})
}

// hasLeadingZeros reports whether a decimal part has leading zeros.
func hasLeadingZeros(s string) bool {
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return r == '.' || r == ':' }) {
		if len(part) > 1 && part[0] == '0' {
			return true
		}
	}
	return false
}

func TestTable(t *testing.T) {
	var names []string
	for i := range 1000 {
		names = append(names, "web-"+strconv.Itoa(i))
	}
	table := NewTable(len(names), func(i int) string { return names[i] })
	for i, n := range names {
		if got := table.Find(n); got != i {
			t.Fatalf("%s is at %d, want %d", n, got, i)
		}
	}
	if table.Find("web-1000") != -1 || NewTable(0, nil).Find("x") != -1 {
		t.Error("found what isn't there")
	}
}

func TestTriggerTime(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Unix(100, 0)}}
	// pods are name, seconds, name, seconds; 0: not known.
	pods := func(x ...any) (list []*Pod) {
		for i := 0; i < len(x); i += 2 {
			p := &Pod{ObjectMeta: metav1.ObjectMeta{Name: x[i].(string)}}
			if s := x[i+1].(int); s > 0 {
				c := corev1.PodCondition{Type: corev1.PodReady, LastTransitionTime: metav1.Unix(int64(s), 0)}
				p.Status.Conditions = [][]byte{wire.Append(nil, unsafe.Pointer(&c), &corev1.PodConditionTable)}
			}
			list = append(list, p)
		}
		return list
	}

	for _, x := range []struct {
		name     string
		old, new []*Pod
		want     int64 // 0: none
	}{
		{"nothing changed", pods("a", 110, "b", 120), pods("a", 110, "b", 120), 0},
		{"a pod changed", pods("a", 110, "b", 120), pods("a", 110, "b", 130), 130},
		{"the earlier of two", pods("a", 110, "b", 120, "c", 120), pods("a", 140, "b", 130, "c", 120), 130},
		{"a new pod", pods("a", 110, "c", 120), pods("a", 110, "b", 105, "c", 120), 105},
		{"a new first pod", pods("b", 110, "c", 120), pods("a", 130, "b", 110, "c", 120), 130},
		{"a pod is gone", pods("a", 110, "b", 120, "c", 130), pods("a", 110, "c", 130), 0},
		{"one gone, one new, one changed", pods("a", 110, "b", 120, "d", 130), pods("a", 110, "c", 150, "d", 160), 150},
		{"an earlier time is no change", pods("a", 110), pods("a", 109), 0},
		{"a pod of which nothing is known", pods("a", 110), pods("a", 110, "b", 0), 0},
		{"and then something is", pods("a", 110, "b", 0), pods("a", 110, "b", 115), 115},
		{"all are new", nil, pods("a", 110, "b", 105), 105},
		{"all are gone", pods("a", 110), nil, 0},
	} {
		first, memory := TriggerTime(nil, service, x.old)
		if first != service.CreationTimestamp {
			t.Errorf("%s: the first time is %v", x.name, first)
		}
		got, next := TriggerTime(memory, service, x.new)
		if want := (metav1.Time{}); x.want > 0 {
			want = metav1.Unix(x.want, 0)
			if got != want {
				t.Errorf("%s: %v, want %v", x.name, got, want)
			}
		} else if got != want {
			t.Errorf("%s: %v, want none", x.name, got)
		}

		if again, same := TriggerTime(next, service, x.new); !again.IsZero() || len(same) > 0 && &same[0] != &next[0] {
			t.Errorf("%s: the next sync sees a change at %v", x.name, again)
		}
		if n := len(next); n > 16*(1+len(x.new)) {
			t.Errorf("%s: %d bytes of memory", x.name, n)
		}
	}
}
