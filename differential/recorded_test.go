package differential

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/world"
)

// A recorded world is the same one when it is read: what is there, and what becomes of it, also where an object has
// another name than when it was recorded.
func TestRecorded(t *testing.T) {
	server, err := api.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	fill := func(name string) *api.Cluster {
		c := server.NewCluster()
		for _, o := range world.Basics() {
			if err := c.Add(o); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range []string{"app", "gone", name} {
			if err := c.Add(podNamed(n)); err != nil {
				t.Fatal(err)
			}
		}
		return c
	}

	c := fill("web-abc")
	s := &Subject{Controller: "some", Deeds: []Deed{func(*world.Rand, *api.Cluster) (string, error) {
		if err := c.Change(Pods, "default", "web-abc", func(o runtime.Object) {
			o.(*corev1.Pod).Status.Phase = corev1.PodFailed
		}); err != nil {
			return "", err
		}
		if err := c.Add(podNamed("new")); err != nil {
			return "", err
		}
		return "all sorts", c.Remove(Pods, "default", "gone")
	}}}
	x := &script{seed: 7, steps: 1, record: s.record(7)}
	if err := x.record.begin(objectsOf(c)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.deed(x, 1, world.NewRand(1), c); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "worlds", "one.yaml")
	if err := x.record.write(file); err != nil {
		t.Fatal(err)
	}

	w, err := readRecorded(file)
	if err != nil {
		t.Fatal(err)
	}
	y, err := w.script()
	if err != nil {
		t.Fatal(err)
	}
	if y.seed != 7 || y.steps != 1 || len(y.objects) != len(world.Basics())+3 {
		t.Errorf("read: seed %d, %d steps, %d objects", y.seed, y.steps, len(y.objects))
	}
	other := fill("web-xyz")
	what, err := s.deed(y, 1, world.NewRand(1), other)
	if what != "all sorts" || err != nil {
		t.Errorf("the step is %q: %v", what, err)
	}
	var left []string
	pods, err := other.List(Pods)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range pods {
		p := o.(*corev1.Pod)
		left = append(left, p.Name+" "+string(p.Status.Phase))
	}
	if got := strings.Join(left, ", "); got != "app , new , web-xyz Failed" {
		t.Errorf("left are %s", got)
	}
}

func podNamed(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web:1"}}}}
}

// A file that says nothing of what it has shown, or is misspelt, is refused with its path.
func TestRecordedRefused(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "seed: 1\nobjects: [{}]\n",
		"form":    "shows: x\nform: often\nobjects: [{}]\n",
		"word":    "shows: x\nobject: [{}]\n",
	} {
		file := filepath.Join(t.TempDir(), name+".yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readRecorded(file); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
