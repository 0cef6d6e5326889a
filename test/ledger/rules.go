package ledger

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// checkNewPod judges a new pod, which its owner doesn't have yet.
func (b *book) checkNewPod(at *corev1.Pod, o *owner, p *pod) {
	n := o.countActive() + 1
	switch o.kind {
	case "ReplicaSet":
		if n > o.mostWanted() {
			b.noteWrong(at, "%v: %s is pod %d, %d are wanted", o, p.name, n, o.mostWanted())
		}
		if d := b.owners[o.above]; d != nil {
			b.checkRollOut(at, d, o, p, n)
		}
	case "StatefulSet":
		b.ordinal(at, o, p)
	case "DaemonSet":
		b.checkDaemon(at, o, p)
	case "Job":
		b.checkWorker(at, o, p, n)
	}
}

// checkRollOut judges a new pod, the n-th of its set, by its Deployment. What another set has and has been told to
// delete doesn't count: see [Seen.Lag].
func (b *book) checkRollOut(at *corev1.Pod, d, set *owner, p *pod, n int) {
	sum := n
	for _, o := range b.liveSets(set.above) {
		if o == set {
			continue
		}
		sum += min(o.countActive(), o.now)
		for _, other := range o.pods {
			if d.recreate && !other.finished {
				b.noteWrong(at, "%v: %s of %s came while %s of %s was there", d, p.name, set.name, other.name, o.name)
			}
		}
	}
	if sum > d.mostWanted() {
		b.noteWrong(at, "%v: %s is pod %d, %d are wanted with the surge", d, p.name, sum, d.mostWanted())
	}
}

func (b *book) ordinal(at *corev1.Pod, o *owner, p *pod) {
	set := at.OwnerReferences[0].Name
	ordinal := -1
	if _, err := fmt.Sscanf(p.name, set+"-%d", &ordinal); err != nil || ordinal >= o.mostWanted() {
		b.noteWrong(at, "%v: %s came, %d are wanted", o, p.name, o.mostWanted())
	}
	ready := map[string]bool{}
	for _, other := range o.pods {
		if ready[other.name] = other.ready; other.name == p.name {
			b.noteWrong(at, "%v: %s came while another of that name was there", o, p.name)
		}
	}
	for i := range ordinal {
		if before := fmt.Sprintf("%s-%d", set, i); o.ordered && !ready[before] {
			b.noteWrong(at, "%v: %s came while %s was not ready", o, p.name, before)
		}
	}
}

// daemon: there is one pod for each node; where pods surge, there may be two on so many nodes.
func (b *book) checkDaemon(at *corev1.Pod, o *owner, p *pod) {
	nodes := map[string]int{p.node: 1}
	for _, other := range o.pods {
		if other.isActive() {
			nodes[other.node]++
		}
	}
	twice := 0
	for node, n := range nodes {
		if n > 2 || n > 1 && o.surge == 0 {
			b.noteWrong(at, "%v: %s came, %s has %d pods", o, p.name, node, n)
		} else if n > 1 {
			twice++
		}
	}
	if o.surge > 0 && twice > o.surge {
		b.noteWrong(at, "%v: %s came, %d nodes have two pods, the surge is %d", o, p.name, twice, o.surge)
	}
}

// worker: an index has one pod at a time and none when it is done; there are no more at work than wanted, nor more in
// all than there is to complete.
func (b *book) checkWorker(at *corev1.Pod, o *owner, p *pod, n int) {
	if n > o.mostWanted() {
		b.noteWrong(at, "%v: %s is pod %d at work, %d are wanted", o, p.name, n, o.mostWanted())
	}
	if done := len(o.succeeded); n+done > o.completions {
		b.noteWrong(at, "%v: %s is pod %d at work, %d are done of %d", o, p.name, n, done, o.completions)
	}
	if !o.indexed {
		return
	}
	if o.succeeded[p.index] {
		b.noteWrong(at, "%v: %s of index %s came though that was done", o, p.name, p.index)
	}
	for _, other := range o.pods {
		if other.index == p.index && !other.finished {
			b.noteWrong(at, "%v: %s of index %s came while %s was at work", o, p.name, p.index, other.name)
		}
	}
}

// checkGoing judges a pod that begins to go.
func (b *book) checkGoing(at *corev1.Pod, o *owner) {
	if o.gone {
		return
	}
	switch o.kind {
	case "StatefulSet":
		for _, other := range o.pods {
			if o.ordered && other.name != at.Name && !other.ready {
				b.noteWrong(at, "%v: %s began to go while %s was not ready", o, at.Name, other.name)
			}
		}
	case "Job":
		b.noteWrong(at, "%v: %s was deleted at work", o, at.Name)
	}
}
