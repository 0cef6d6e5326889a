package restart

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// Families have a root, children and grandchildren, 5,000 in all, and go, or let go, in different ways. Every fifth
// child has a second owner that lives.
const (
	children      = 25
	grandchildren = 19
	keeper        = "keeper"

	lasts = 2 // objects that are made when all is over
)

var families = []struct {
	name   string
	policy metav1.DeletionPropagation
}{
	{"background-1", metav1.DeletePropagationBackground}, {"background-2", metav1.DeletePropagationBackground},
	{"background-3", metav1.DeletePropagationBackground},
	{"background-4", metav1.DeletePropagationBackground},
	{"foreground-1", metav1.DeletePropagationForeground}, {"foreground-2", metav1.DeletePropagationForeground},
	{"foreground-3", metav1.DeletePropagationForeground},
	{"foreground-4", metav1.DeletePropagationForeground},
	{"orphan-1", metav1.DeletePropagationOrphan}, {"orphan-2", metav1.DeletePropagationOrphan},
}

// A cascade goes on where it was: what has no owner goes, each object by one delete that is done, what has one stays,
// and the end is as if nothing had happened.
func TestCascade(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Options{Audit: true})
	config := rest.CopyConfig(c.RESTConfig())
	config.QPS, config.ContentType = -1, "application/vnd.kubernetes.protobuf"
	client := kubernetes.NewForConfigOrDie(config)
	controllers := []string{"garbage-collector-controller"}
	for _, namespace := range []string{calm, killed} {
		if _, err := client.CoreV1().Namespaces().Create(t.Context(),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		createFamilies(t, client, namespace)
	}
	from := time.Now()
	p := windlass.Spawn(t, c, controllers...)
	deleteRoots(t, client, calm)
	awaitCollector(t, client, calm, "last") // it runs
	kept := children / 5 * (1 + grandchildren)
	want := 1 // the keeper
	for _, f := range families {
		if f.policy == metav1.DeletePropagationOrphan {
			want += children * (1 + grandchildren)
		} else {
			want += kept
		}
	}
	settled := func(namespace string) func() (bool, string) {
		return func() (bool, string) {
			if n := countConfigMaps(t, client, namespace); n != want {
				return false, fmt.Sprintf("%d objects, in the end %d", n, want)
			}
			for _, o := range configMaps(t, client, namespace) {
				if o.DeletionTimestamp != nil || strings.Contains(ownerNames(&o), "-root") {
					return false, o.Name + " is to go or to be let go"
				}
			}
			return true, ""
		}
	}
	t.Logf("%5.1f s", time.Since(from).Seconds())
	cluster.Eventually(t, patience, "undisturbed", settled(calm))
	t.Logf("%5.1f s undisturbed", time.Since(from).Seconds())
	p.Stop(t)

	l := watchOwners(t, client, killed)
	deleteRoots(t, client, killed)
	killUntil(t, c, 3, 3, controllers, settled(killed))
	// Nothing is left to do, nor is more done than there was, by one that finds it so.
	windlass.Spawn(t, c, controllers...)
	for i := range lasts {
		awaitCollector(t, client, killed, fmt.Sprint("last-", i))
	}
	gone := l.finishAndJudge(t)

	state := func(namespace string) map[string]string {
		all := map[string]string{}
		for _, o := range configMaps(t, client, namespace) {
			all[o.Name] = fmt.Sprint(ownerNames(&o), o.Finalizers, o.DeletionTimestamp != nil)
		}
		return all
	}
	if d := cmp.Diff(state(calm), state(killed)); d != "" {
		t.Errorf("the end is another than undisturbed (-undisturbed +killed):\n%s", d)
	}
	// What a killed process had asked for may have been done or not: the API server notes no more than that nobody waited
	// for its answer.
	asked, done, codes := map[string]bool{}, map[string]int{}, map[int]int{}
	for _, e := range c.Audit(t, cluster.Filter{Verbs: []string{"delete"}, Resources: []string{"configmaps"},
		Namespace: killed,
		Users:     []string{"system:serviceaccount:kube-system:generic-garbage-collector"}}) {
		asked[e.Name] = true
		codes[e.Code]++
		if e.Code == 200 {
			if done[e.Name]++; done[e.Name] > 1 {
				t.Errorf("%s was deleted twice", e.Name)
			}
		}
	}
	t.Logf("deletes by their codes: %v", codes)
	for _, f := range families {
		delete(gone, f.name+"-root")
	}
	if d := cmp.Diff(gone, asked); d != "" {
		t.Errorf("deletes (-of what is gone +by the collector):\n%s", d)
	}
}

// createFamilies makes a keeper and the families.
func createFamilies(t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	create := func(name string, owners ...*corev1.ConfigMap) (*corev1.ConfigMap, error) {
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, owner := range owners {
			block := true
			o.OwnerReferences = append(o.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap",
				Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: &block})
		}
		return client.CoreV1().ConfigMaps(namespace).Create(t.Context(), o, metav1.CreateOptions{})
	}

	second, err := create(keeper)
	if err != nil {
		t.Fatal(err)
	}

	errs := make([]error, len(families)*children)
	var g sync.WaitGroup
	for i, f := range families {
		root, err := create(f.name + "-root")
		if err != nil {
			t.Fatal(err)
		}
		for j := range children {
			g.Go(func() {
				all := []*corev1.ConfigMap{root}
				if j%5 == 0 {
					all = append(all, second)
				}
				child, err := create(fmt.Sprintf("%s-%d", f.name, j), all...)
				for k := 0; k < grandchildren && err == nil; k++ {
					_, err = create(fmt.Sprintf("%s-%d-%d", f.name, j, k), child)
				}
				errs[i*children+j] = err
			})
		}
	}

	g.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func deleteRoots(t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	for _, f := range families {
		if err := client.CoreV1().ConfigMaps(namespace).Delete(t.Context(), f.name+"-root",
			metav1.DeleteOptions{PropagationPolicy: &f.policy}); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitCollector waits until the collector has come to an object that is made now, and whose owner there has never
// been.
func awaitCollector(t *testing.T, client kubernetes.Interface, namespace, name string) {
	t.Helper()
	all := client.CoreV1().ConfigMaps(namespace)
	_, err := all.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name,
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "ConfigMap", Name: "nobody", UID: "00000000-0000-4000-8000-000000000000"},
		}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, patience, "the collector comes to the last object", func() (bool, string) {
		l, err := all.List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name, ResourceVersion: "0"})
		return err == nil && len(l.Items) == 0, fmt.Sprint(err)
	})
}

// countConfigMaps returns how many ConfigMaps there are: it is asked for all the time.
func countConfigMaps(t *testing.T, client kubernetes.Interface, namespace string) int {
	t.Helper()
	l, err := client.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	n := len(l.Items)
	if l.RemainingItemCount != nil {
		n += int(*l.RemainingItemCount)
	}
	return n
}

func configMaps(t *testing.T, client kubernetes.Interface, namespace string) []corev1.ConfigMap {
	t.Helper()
	l, err := client.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return l.Items
}

func ownerNames(o *corev1.ConfigMap) (s string) {
	for _, r := range o.OwnerReferences {
		s += r.Name + " "
	}
	return s
}

// ownersLedger follows objects in the order of their changes, and takes note of those that are deleted though an owner
// lives.
type ownersLedger struct {
	there map[types.UID]*corev1.ConfigMap
	gone  map[string]bool
	wrong []string
	watch watch.Interface
	last  chan struct{} // gets one for each of the last objects that goes
	ended chan struct{}
}

func watchOwners(t *testing.T, client kubernetes.Interface, namespace string) *ownersLedger {
	t.Helper()
	l := &ownersLedger{there: map[types.UID]*corev1.ConfigMap{}, gone: map[string]bool{}, last: make(chan struct{}, lasts),
		ended: make(chan struct{})}
	now, err := client.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range now.Items {
		l.there[now.Items[i].UID] = &now.Items[i]
	}
	if l.watch, err = client.CoreV1().ConfigMaps(namespace).Watch(context.WithoutCancel(t.Context()),
		metav1.ListOptions{ResourceVersion: now.ResourceVersion}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.watch.Stop)
	go func() {
		defer close(l.ended)
		for e := range l.watch.ResultChan() {
			if o, ok := e.Object.(*corev1.ConfigMap); ok {
				l.recordChange(o, e.Type == watch.Deleted)
			}
		}
	}()
	return l
}

func (l *ownersLedger) recordChange(o *corev1.ConfigMap, gone bool) {
	if before := l.there[o.UID]; before != nil && before.DeletionTimestamp == nil && (gone || o.DeletionTimestamp != nil) {
		for _, r := range before.OwnerReferences {
			if owner := l.there[r.UID]; owner != nil && (owner.DeletionTimestamp == nil || len(owner.Finalizers) == 0 ||
				owner.Finalizers[0] != metav1.FinalizerDeleteDependents) {
				l.wrong = append(l.wrong, fmt.Sprintf("%s was deleted while %s lived", o.Name, owner.Name))
			}
		}
	}
	if l.there[o.UID] = o; gone {
		delete(l.there, o.UID)
		l.gone[o.Name] = true
		if strings.HasPrefix(o.Name, "last-") {
			l.last <- struct{}{}
		}
	}
}

// finishAndJudge fails the test for all that was wrong, and returns the names of what is gone.
func (l *ownersLedger) finishAndJudge(t *testing.T) map[string]bool {
	t.Helper()
	for range lasts {
		select {
		case <-l.last:
		case <-l.ended:
			t.Error("the ledger's watch has ended before the last object")
		}
	}
	l.watch.Stop()
	<-l.ended
	for i, x := range l.wrong {
		if i == 10 {
			t.Errorf("and %d more", len(l.wrong)-i)
			break
		}
		t.Error(x)
	}
	return l.gone
}
