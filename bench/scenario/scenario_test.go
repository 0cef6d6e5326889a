package scenario

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Names are unique and can be asked for; each scenario says what it does and has something to measure.
func TestScenarios(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All {
		if seen[s.Name] {
			t.Errorf("two are called %s", s.Name)
		}
		seen[s.Name] = true
		if found, err := Find(s.Name); err != nil || found != s {
			t.Errorf("%s is not found: %v", s.Name, err)
		}
		if s.Title(false) == "" || s.Title(true) == "" || s.Base == nil || s.Start != (s.Act == nil) {
			t.Errorf("%s lacks something: %+v", s.Name, s)
		}
	}
	if _, err := Find("nothing"); err == nil {
		t.Error("a scenario that isn't there was found")
	}
}

// A pod is about as large as people's are: what it takes in a cache depends on that.
func TestRealisticSize(t *testing.T) {
	p := realistic("load", nil)
	p.Status = running(70000, &p.Spec)
	b, err := p.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	// Defaults and managedFields come on top.
	if len(b) < 3500 || len(b) > 8000 {
		t.Errorf("a pod has %d bytes on the wire", len(b))
	}
	if p.Status.PodIP != "10.65.17.112" || len(p.Status.Conditions) != 5 || p.Status.ContainerStatuses[1].Name != "proxy" {
		t.Errorf("status %+v", p.Status)
	}
	ready := false
	for _, c := range p.Status.Conditions {
		ready = ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}
	if !ready {
		t.Error("it is not ready")
	}
}
