package ledger

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/windlass-dev/windlass/test/workload"
)

// Seen is what a ledger has counted.
type Seen struct {
	Made, Gone int            // pods
	Images     map[string]int // of those that were made, by the image of their first container
	// Lag is how many pods more than its replicas and surge a Deployment had at most, while a set had yet to delete those
	// that it had been told to. It is a race of two sets' syncs that the native controllers have, too: the Deployment
	// counts what its sets want, not what they have.
	Lag int
}

// owner is what wants pods: a set, a job or a Deployment.
type owner struct {
	kind, name  string
	above       types.UID // a replica set's Deployment
	now, before int       // how many pods it wants at most, and how many before that changed
	surge       int       // a daemon set's
	recreate    bool      // a Deployment's strategy
	ordered     bool      // a stateful set's policy
	indexed     bool
	completions int
	succeeded   map[string]bool // pods of a job, by index, or by name
	pods        map[types.UID]*pod
	gone        bool
}

func (o *owner) String() string { return o.kind + " " + o.name }

// mostWanted returns the bound for what is made now by someone who may not have seen the last change yet.
func (o *owner) mostWanted() int { return max(o.now, o.before) }

func (o *owner) setWanted(n int) {
	if n != o.now {
		o.before, o.now = o.now, n
	}
}

type pod struct {
	name, index, node string
	ready             bool
	going, finished   bool
}

func (p *pod) isActive() bool { return !p.going && !p.finished }

func (o *owner) countActive() (n int) {
	for _, p := range o.pods {
		if p.isActive() {
			n++
		}
	}
	return n
}

// book is the state of all at one revision.
type book struct {
	owners map[types.UID]*owner
	order  []*owner
	wrong  []string
	seen   Seen
}

func newBook() *book {
	return &book{owners: map[types.UID]*owner{}, seen: Seen{Images: map[string]int{}}}
}

func (b *book) noteWrong(at metav1.Object, format string, a ...any) {
	b.wrong = append(b.wrong, fmt.Sprintf("revision %s: ", at.GetResourceVersion())+fmt.Sprintf(format, a...))
}

// ownerOf returns what has the UID; it may be that its pods come first.
func (b *book) ownerOf(uid types.UID) *owner {
	o := b.owners[uid]
	if o == nil {
		o = &owner{succeeded: map[string]bool{}, pods: map[types.UID]*pod{}}
		b.owners[uid], b.order = o, append(b.order, o)
	}
	return o
}

func (b *book) followEntry(e entry) {
	if e.object == nil {
		for _, o := range b.order {
			o.before = o.now
		}
		return
	}
	if p, ok := e.object.(*corev1.Pod); ok {
		b.followPod(p, e)
		return
	}

	o := b.ownerOf(e.object.GetUID())
	o.name, o.gone = e.object.GetNamespace()+"/"+e.object.GetName(), e.gone || e.object.GetDeletionTimestamp() != nil
	switch x := e.object.(type) {
	case *appsv1.Deployment:
		o.kind, o.recreate = "Deployment", x.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType
		o.setWanted(int(*x.Spec.Replicas) + maxSurge(x.Spec.Strategy.RollingUpdate, *x.Spec.Replicas))
	case *appsv1.ReplicaSet:
		o.kind = "ReplicaSet"
		if r := metav1.GetControllerOf(x); r != nil {
			o.above = r.UID
		}
		grown := int(*x.Spec.Replicas) > o.now
		if o.setWanted(int(*x.Spec.Replicas)); grown && !e.gone {
			b.checkGrowth(x, o)
		}
	case *appsv1.StatefulSet:
		o.kind, o.ordered = "StatefulSet", x.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
		o.setWanted(int(*x.Spec.Replicas))
	case *appsv1.DaemonSet:
		o.kind = "DaemonSet"
		if u := x.Spec.UpdateStrategy.RollingUpdate; u != nil && u.MaxSurge != nil {
			o.surge, _ = intstr.GetScaledValueFromIntOrPercent(u.MaxSurge, int(x.Status.DesiredNumberScheduled), true)
		}
	case *batchv1.Job:
		b.followJob(x, o, e.old)
	}
}

func maxSurge(r *appsv1.RollingUpdateDeployment, replicas int32) int {
	if r == nil || r.MaxSurge == nil {
		return 0
	}
	n, _ := intstr.GetScaledValueFromIntOrPercent(r.MaxSurge, int(replicas), true)
	return n
}

// checkGrowth looks at a Deployment when one of its sets has been told to make more pods.
func (b *book) checkGrowth(x *appsv1.ReplicaSet, set *owner) {
	d := b.owners[set.above]
	if d == nil || d.gone {
		return
	}
	sum := 0
	for _, o := range b.liveSets(set.above) {
		sum += o.now
	}
	if sum > d.mostWanted() {
		b.noteWrong(x, "%v: its sets want %d pods when %s grows to %d, it wants %d with its surge",
			d, sum, set.name, set.now, d.mostWanted())
	}
}

func (b *book) liveSets(deployment types.UID) (all []*owner) {
	for _, o := range b.order {
		if o.above == deployment && !o.gone {
			all = append(all, o)
		}
	}
	return all
}

func (b *book) followJob(x *batchv1.Job, o *owner, old bool) {
	o.kind, o.indexed = "Job", x.Spec.CompletionMode != nil && *x.Spec.CompletionMode == batchv1.IndexedCompletion
	o.completions = int(*x.Spec.Completions)
	if o.setWanted(int(*x.Spec.Parallelism)); old {
		return // its pods come after it
	}
	if int(x.Status.Succeeded) > len(o.succeeded) {
		b.noteWrong(x, "%v: its status counts %d succeeded, %d have", o, x.Status.Succeeded, len(o.succeeded))
	}
	if x.Status.Failed > 0 {
		b.noteWrong(x, "%v: its status counts %d failed, none has", o, x.Status.Failed)
	}
	for _, c := range x.Status.Conditions {
		if c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue && int(x.Status.Succeeded) != o.completions {
			b.noteWrong(x, "%v: complete with %d of %d", o, x.Status.Succeeded, o.completions)
		}
	}
}

// followPod takes in a pod's next revision. The rules are those for one that is made, and for one that begins to go.
func (b *book) followPod(p *corev1.Pod, e entry) {
	ref := metav1.GetControllerOf(p)
	if ref == nil {
		return
	}

	o := b.ownerOf(ref.UID)
	if o.kind == "" {
		o.kind, o.name = ref.Kind, p.Namespace+"/"+ref.Name
	}
	before := o.pods[p.UID]

	now := &pod{
		name: p.Name, index: p.Annotations[batchv1.JobCompletionIndexAnnotation], node: nodeOfPod(p),
		going:    e.gone || p.DeletionTimestamp != nil,
		finished: p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed,
	}

	now.ready = !now.going && workload.Ready(p)
	if e.old {
		// as it may be
	} else if before == nil {
		b.seen.Made++
		if c := p.Spec.Containers; len(c) > 0 {
			b.seen.Images[c[0].Image]++
		}
		b.checkNewPod(p, o, now)
	} else if before.isActive() && now.going {
		b.checkGoing(p, o)
	}

	if o.pods[p.UID] = now; e.gone {
		b.seen.Gone++
		delete(o.pods, p.UID)
	}
	if o.kind == "Job" && p.Status.Phase == corev1.PodSucceeded {
		o.succeeded[keyOfPod(o, now)] = true
	}

	if d := b.owners[o.above]; d != nil {
		sum := 0
		for _, s := range b.liveSets(o.above) {
			sum += s.countActive()
		}
		b.seen.Lag = max(b.seen.Lag, sum-d.mostWanted())
	}
}

func keyOfPod(o *owner, p *pod) string {
	if o.indexed {
		return p.index
	}
	return p.name
}

// nodeOfPod returns where a pod is, or, of a daemon set's that has not been bound yet, where it will be.
func nodeOfPod(p *corev1.Pod) string {
	if p.Spec.NodeName != "" || p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil ||
		p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return p.Spec.NodeName
	}
	var names []string
	for _, term := range p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, f := range term.MatchFields {
			names = append(names, f.Values...)
		}
	}
	return strings.Join(names, " ")
}
