package workload

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// Diary is what happened to an app's pods, in the order in which it happened.
type Diary struct {
	mu      sync.Mutex
	entries []string        // "+web-0", "-web-0"
	ready   map[string]bool // of the pods that are there
	wrong   []string
	stop    func()
	ended   chan struct{}
}

// Watch keeps a diary of an app's pods and, where ordered is set, notes each pod that came to be while one before it
// wasn't ready, and each that began to go while another was going or not ready.
func Watch(t testing.TB, client kubernetes.Interface, namespace, app string, ordered bool) *Diary {
	t.Helper()
	l, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		t.Fatal(err)
	}

	d := &Diary{ready: map[string]bool{}, ended: make(chan struct{})}
	for i := range l.Items {
		d.ready[l.Items[i].Name] = Ready(&l.Items[i])
	}
	from, err := client.CoreV1().Pods(namespace).Watch(t.Context(),
		metav1.ListOptions{LabelSelector: "app=" + app, ResourceVersion: l.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}

	d.stop = from.Stop
	going := map[string]bool{}
	go func() {
		defer close(d.ended)
		for e := range from.ResultChan() {
			p, ok := e.Object.(*corev1.Pod)
			if !ok {
				continue
			}

			d.mu.Lock()
			switch {
			case e.Type == watch.Added:
				for n := 0; ordered && fmt.Sprintf("%s-%d", app, n) != p.Name; n++ {
					if before := fmt.Sprintf("%s-%d", app, n); !d.ready[before] {
						d.wrong = append(d.wrong, fmt.Sprintf("%s came while %s was not ready", p.Name, before))
					}
				}
				d.entries = append(d.entries, "+"+p.Name)
			case e.Type == watch.Deleted:
				delete(going, p.Name)
				d.entries = append(d.entries, "-"+p.Name)
			case p.DeletionTimestamp != nil && !going[p.Name]:
				for other, ready := range d.ready {
					if ordered && other != p.Name && !ready {
						d.wrong = append(d.wrong, fmt.Sprintf("%s began to go while %s was not ready", p.Name, other))
					}
				}
				going[p.Name] = true
			}

			if d.ready[p.Name] = p.DeletionTimestamp == nil && Ready(p); e.Type == watch.Deleted {
				delete(d.ready, p.Name)
			}
			d.mu.Unlock()
		}
	}()

	t.Cleanup(from.Stop)
	return d
}

// End ends the diary and returns its entries.
func (d *Diary) End(t testing.TB) string {
	t.Helper()
	d.stop()
	<-d.ended
	for _, x := range d.wrong {
		t.Error(x)
	}
	return strings.Join(d.entries, " ")
}

// Text returns the entries so far.
func (d *Diary) Text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.entries, " ")
}

// Ready reports whether a pod runs and is ready.
func Ready(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && p.Status.Phase == corev1.PodRunning
		}
	}
	return false
}
