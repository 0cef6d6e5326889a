package life

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/windlass-dev/windlass/test/workload"
)

// watch is one that goes on.
type watch struct {
	diary *workload.Diary
	nodes *nodes // nil where no bounds are set
}

func (p *player) startWatch(x *Watch) *watch {
	p.Helper()
	w := &watch{diary: workload.Watch(p, p.Client, p.namespace, x.App, x.Ordered)}
	if x.Nodes != nil {
		w.nodes = p.watchNodes(x)
	}
	return w
}

func (p *player) watched(x *Watched) {
	p.Helper()
	w := p.watches[x.App]
	if w == nil {
		p.Fatalf("%s: nobody watches %s", p.what, x.App)
	}
	if got := w.diary.End(p); x.Diary != "" && got != x.Diary {
		p.Errorf("%s: %s went through %s, not %s", p.what, x.App, got, x.Diary)
	}
	if w.nodes != nil {
		w.nodes.stop()
		<-w.nodes.ended
		for _, wrong := range w.nodes.wrong {
			p.Errorf("%s: %s: %s", p.what, x.App, wrong)
		}
		if w.nodes.changes == 0 {
			p.Errorf("%s: %s: nothing was seen", p.what, x.App)
		}
	}
}

// nodes are where an app's pods are, from one change to the next.
type nodes struct {
	bounds  Bounds
	pods    map[string]*corev1.Pod
	changes int
	once    sync.Once // the first time that they are out of bounds is enough
	wrong   []string
	stop    func()
	ended   chan struct{}
}

func (p *player) watchNodes(x *Watch) *nodes {
	p.Helper()
	of := metav1.ListOptions{LabelSelector: "app=" + x.App}
	l, err := p.Client.CoreV1().Pods(p.namespace).List(p.Context(), of)
	p.must(err)
	n := &nodes{bounds: *x.Nodes, pods: map[string]*corev1.Pod{}, ended: make(chan struct{})}
	for i := range l.Items {
		n.pods[l.Items[i].Name] = &l.Items[i]
	}
	of.ResourceVersion = l.ResourceVersion
	from, err := p.Client.CoreV1().Pods(p.namespace).Watch(p.Context(), of)
	p.must(err)
	n.stop = from.Stop
	p.Cleanup(from.Stop)
	go func() {
		defer close(n.ended)
		for e := range from.ResultChan() {
			if pod, ok := e.Object.(*corev1.Pod); ok {
				n.notePod(e.Type, pod)
			}
		}
	}()
	return n
}

func (n *nodes) notePod(what apiwatch.EventType, pod *corev1.Pod) {
	n.changes++
	if n.pods[pod.Name] = pod; what == apiwatch.Deleted {
		delete(n.pods, pod.Name)
	}
	ready, all := map[string]bool{}, map[string]int{}
	twice := 0
	for _, p := range n.pods {
		if p.DeletionTimestamp != nil {
			continue
		}
		on := meantFor(p)
		if workload.Ready(p) {
			ready[on] = true
		}
		if all[on]++; all[on] == 2 {
			twice++
		}
	}
	if len(ready) < n.bounds.Ready || twice > n.bounds.Twice {
		n.once.Do(func() {
			n.wrong = append(n.wrong, fmt.Sprintf("%d nodes have a ready pod, %d have two, where %d and %d are the bounds",
				len(ready), twice, n.bounds.Ready, n.bounds.Twice))
		})
	}
}

// meantFor is the node that a pod is on, or that a DaemonSet has made it for.
func meantFor(p *corev1.Pod) string {
	if p.Spec.NodeName != "" {
		return p.Spec.NodeName
	}
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		if s := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; s != nil {
			for _, term := range s.NodeSelectorTerms {
				for _, f := range term.MatchFields {
					return f.Values[0]
				}
			}
		}
	}
	return ""
}
