package statefulset

import (
	"testing"

	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

func TestParse(t *testing.T) {
	for _, x := range []struct {
		name, parent string
		ordinal      int64
	}{
		{"web-0", "web", 0}, {"web-12", "web", 12}, {"my-web-3", "my-web", 3}, {"web-01", "web", 1},
		{"web-2147483647", "web", 2147483647},
		{"web-2147483648", "web", -1}, {"web-99999999999999999999", "web", -1}, {"web", "", -1}, {"web-", "", -1},
		{"web-a", "", -1}, {"web-1a", "", -1},
		{"7", "", -1}, {"-7", "", 7}, {"web--1", "web-", 1}, {"", "", -1},
	} {
		if parent, ordinal := parsePodName(x.name); parent != x.parent || ordinal != x.ordinal {
			t.Errorf("%q: %q, %d, want %q, %d", x.name, parent, ordinal, x.parent, x.ordinal)
		}
	}
}

func TestInsert(t *testing.T) {
	var up, down []*corev1.Pod
	// views come sorted by name, which is not by ordinal
	for _, name := range []string{"w-01", "w-1", "w-10", "w-2", "w-0", "w-3"} {
		p := &corev1.Pod{}
		p.Name = name
		up, down = insertPod(up, p, ordinal(p), 1), insertPod(down, p, ordinal(p), -1)
	}
	text := func(l []*corev1.Pod) (s string) {
		for _, p := range l {
			s += p.Name + " "
		}
		return s
	}
	if got := text(up); got != "w-0 w-1 w-2 w-3 w-10 " {
		t.Errorf("upwards: %s", got)
	}
	if got := text(down); got != "w-10 w-3 w-2 w-1 w-01 w-0 " {
		t.Errorf("downwards: %s", got)
	}
}
