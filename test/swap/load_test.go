package swap

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The load: a busy Deployment goes up and down between these sizes, pods of quiet ones are deleted by somebody else,
// and a Service's label changes.
const (
	small, large = 10, 12
	quiet, each  = 8, 2 // quiet Deployments, and their pods

	loadPeriod  = 100 * time.Millisecond
	probePeriod = 40 * time.Millisecond
	killEvery   = 5 // of the busy one's steps
)

// load is what goes on in the cluster; it is the same with swaps and without.
type load struct {
	*world
	*ledger
	step       int
	want       map[string]int // pods by Deployment
	ups, downs int            // pods that replicaset has to have made and deleted
	kills      int
	probes     int
}

// latencies are how long other controllers took from a change to their answered write, by controller.
type latencies map[string][]time.Duration

func (a latencies) add(b latencies) {
	for name, all := range b {
		a[name] = append(a[name], all...)
	}
}

// createObjects makes the objects and learns their sets.
func (l *load) createObjects() {
	l.want = map[string]int{"busy": small}
	for i := range quiet {
		l.want[fmt.Sprint("quiet-", i)] = each
	}

	names := slices.Sorted(maps.Keys(l.want))
	for _, name := range names {
		l.createDeployment(name, int32(l.want[name]))
		l.ups += l.want[name]
	}
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "probe"},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "none"}, Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := l.client.CoreV1().Services(namespace).Create(l.t.Context(), s, metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}

	for _, name := range names {
		l.awaitPods(name, l.want[name])
	}
	all, err := l.client.AppsV1().ReplicaSets(namespace).List(l.t.Context(), metav1.ListOptions{})
	if err != nil {
		l.t.Fatal(err)
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range all.Items {
		l.sets = append(l.sets, s.Name)
	}
}

// runUnderLoad runs f while the cluster is busy, waits until all is written, and returns what the other controllers
// took meanwhile.
func (l *load) runUnderLoad(f func(ctx context.Context) error) latencies {
	l.t.Helper()
	ctx, cancel := context.WithCancelCause(l.t.Context())
	stop := make(chan struct{})
	both := make(chan error, 2)
	took := [2]latencies{{}, {}}
	run := func(i int, period time.Duration, step func(context.Context, latencies) error) {
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		var err error
		for err == nil {
			select {
			case <-stop:
				both <- nil
				return
			case <-ticker.C:
				err = step(ctx, took[i])
			}
		}
		cancel(err)
		both <- err
	}

	go run(0, loadPeriod, l.scaleBusy)
	go run(1, probePeriod, l.probeService)
	if err := f(ctx); err != nil {
		cancel(err)
	}
	close(stop)
	for range 2 {
		<-both
	}
	if err := context.Cause(ctx); err != nil {
		l.t.Fatal(err)
	}

	cancel(nil)
	took[0].add(took[1])
	return took[0]
}

// scaleBusy changes the busy Deployment's size, and every now and then deletes a pod of a quiet one; it returns when
// replicaset has made and deleted what that takes, and not one pod more.
func (l *load) scaleBusy(ctx context.Context, took latencies) error {
	l.step++
	name, next := "busy", small
	if l.want[name] == small {
		next = large
	}
	l.ups += max(0, next-l.want[name])
	l.downs += max(0, l.want[name]-next)
	l.want[name] = next

	if l.step%killEvery == 0 {
		if err := l.killPod(ctx, fmt.Sprint("quiet-", rand.IntN(quiet))); err != nil {
			return err
		}
	}

	before, from := l.writeCount("deployment-controller replicasets"), time.Now()
	if _, err := l.client.AppsV1().Deployments(namespace).Patch(ctx, name, types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, next), metav1.PatchOptions{}); err != nil {
		return err
	}

	err := l.waitUntil(ctx, "deployment scales its set", func() (bool, error) {
		return l.answers["deployment-controller replicasets"] > before, nil
	})
	if err != nil {
		return err
	}

	took["deployment"] = append(took["deployment"], time.Since(from))
	return l.waitUntil(ctx, fmt.Sprintf("a key is lost: replicaset has to have made %d pods and deleted %d", l.ups,
		l.downs),
		func() (bool, error) {
			if l.made > l.ups || l.gone > l.downs {
				return false, fmt.Errorf("written twice: %d pods were made and %d deleted, %d and %d had to be",
					l.made, l.gone, l.ups, l.downs)
			}
			return l.made == l.ups && l.gone == l.downs, nil
		})
}

// killPod deletes a pod as anybody may: its set has to make another one.
func (l *load) killPod(ctx context.Context, name string) error {
	pods := l.client.CoreV1().Pods(namespace)
	all, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "app=" + name})
	if err != nil {
		return err
	}
	for _, p := range all.Items {
		if p.DeletionTimestamp == nil {
			l.kills++
			l.ups++
			return pods.Delete(ctx, p.Name, metav1.DeleteOptions{})
		}
	}
	return fmt.Errorf("%s has no pod", name)
}

// probeService changes a Service's label and takes the time until its slice is written.
func (l *load) probeService(ctx context.Context, took latencies) error {
	const who = "endpointslice-controller endpointslices"
	l.probes++
	before, from := l.writeCount(who), time.Now()
	change := fmt.Appendf(nil, `{"metadata":{"labels":{"probe":"%d"}}}`, l.probes)
	if _, err := l.client.CoreV1().Services(namespace).Patch(ctx, "probe", types.MergePatchType, change,
		metav1.PatchOptions{}); err != nil {
		return err
	}
	err := l.waitUntil(ctx, "the service's slice is written", func() (bool, error) { return l.answers[who] > before, nil })
	took["endpointslice"] = append(took["endpointslice"], time.Since(from))
	return err
}

// settled tells whether the cluster is as it should be, by the server's word.
func (l *load) settled() {
	l.t.Helper()
	l.eventually("every set has its pods", func() (bool, string) {
		all, err := l.client.AppsV1().ReplicaSets(namespace).List(l.t.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		pods, err := l.client.CoreV1().Pods(namespace).List(l.t.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		have := map[string]int{}
		for _, p := range pods.Items {
			if p.DeletionTimestamp == nil {
				have[p.Labels["app"]]++
			}
		}
		for _, s := range all.Items {
			if name := s.Labels["app"]; have[name] != l.want[name] || int(s.Status.Replicas) != l.want[name] ||
				s.Status.ObservedGeneration != s.Generation {
				return false, fmt.Sprintf("%s has %d pods and a status of %d, expected %d",
					name, have[name], s.Status.Replicas, l.want[name])
			}
		}
		return true, ""
	})
}
