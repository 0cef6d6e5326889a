// Package ledger follows workloads and their pods through every revision, and finds pods that should never have been
// made.
package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	clientcache "k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"

	"github.com/windlass-dev/windlass/test/cluster"
)

// Ledger collects what several watches deliver. It is judged at the end, in the order of the API server's revisions,
// which is one for all resources.
type Ledger struct {
	client    kubernetes.Interface
	namespace string
	stop      []func()
	ended     sync.WaitGroup

	once    sync.Once
	seen    Seen
	mu      sync.Mutex
	entries []entry
	there   map[types.UID]string // resource version of what there is, as far as the watches have come
	closed  bool
}

// entry is an object as a revision left it, or, without one, a moment at which all was at rest.
type entry struct {
	revision uint64
	object   metav1.Object
	gone     bool
	old      bool // it was there before the ledger
}

// source is a resource that the ledger follows.
type source struct {
	list  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

func sources(c kubernetes.Interface, namespace string) []source {
	apps := c.AppsV1()
	return []source{
		{listFunc(apps.Deployments(namespace).List), apps.Deployments(namespace).Watch},
		{listFunc(apps.ReplicaSets(namespace).List), apps.ReplicaSets(namespace).Watch},
		{listFunc(apps.StatefulSets(namespace).List), apps.StatefulSets(namespace).Watch},
		{listFunc(apps.DaemonSets(namespace).List), apps.DaemonSets(namespace).Watch},
		{listFunc(c.BatchV1().Jobs(namespace).List), c.BatchV1().Jobs(namespace).Watch},
		{listFunc(c.CoreV1().Pods(namespace).List), c.CoreV1().Pods(namespace).Watch},
	}
}

func listFunc[L runtime.Object](f func(context.Context, metav1.ListOptions) (L, error)) func(context.Context,
	metav1.ListOptions) (runtime.Object, error) {
	return func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return f(ctx, o) }
}

// Keep begins a ledger of a namespace, or of all of them if the name is empty. What there is already counts as being at
// rest.
func Keep(t testing.TB, client kubernetes.Interface, namespace string) *Ledger {
	t.Helper()
	l := &Ledger{client: client, namespace: namespace, there: map[types.UID]string{}}
	ctx := context.WithoutCancel(t.Context())
	for _, s := range sources(client, namespace) {
		now, err := s.list(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.recordList(now); err != nil {
			t.Fatal(err)
		}
		m, err := meta.ListAccessor(now)
		if err != nil {
			t.Fatal(err)
		}
		// A busy API server ends watches: they go on where they were.
		w, err := toolswatch.NewRetryWatcherWithContext(ctx, m.GetResourceVersion(),
			&clientcache.ListWatch{WatchFuncWithContext: s.watch})
		if err != nil {
			t.Fatal(err)
		}
		l.stop = append(l.stop, w.Stop)
		l.ended.Go(func() { l.recordWatch(w) })
	}

	t.Cleanup(func() { l.closeAndJudge(t) })
	l.Rest(t)
	return l
}

func (l *Ledger) recordList(list runtime.Object) error {
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	for _, item := range items {
		o, err := meta.Accessor(item)
		if err != nil {
			return err
		}
		l.recordEntry(entry{object: o, old: true})
	}
	return nil
}

func (l *Ledger) recordWatch(w watch.Interface) {
	for e := range w.ResultChan() {
		if o, ok := e.Object.(metav1.Object); ok {
			l.recordEntry(entry{revision: revision(o.GetResourceVersion()), object: o, gone: e.Type == watch.Deleted})
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

func (l *Ledger) recordEntry(e entry) {
	o := e.object
	o.SetManagedFields(nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.there[o.GetUID()] = o.GetResourceVersion(); e.gone {
		delete(l.there, o.GetUID())
	}
	l.entries = append(l.entries, e)
}

func revision(s string) uint64 {
	n, _ := strconv.ParseUint(s, 10, 64) // etcd's
	return n
}

// Rest says that all is at rest now: what was wanted before is no excuse for a pod that is made later.
func (l *Ledger) Rest(t testing.TB) {
	t.Helper()
	now, err := l.client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, entry{revision: revision(now.ResourceVersion)})
}

// End waits until the watches have delivered all that there is, which must have come to rest, and fails the test for
// all that was wrong.
func (l *Ledger) End(t testing.TB) Seen {
	t.Helper()
	cluster.Eventually(t, time.Minute, "the ledger has all", func() (bool, string) {
		there := map[types.UID]string{}
		for _, s := range sources(l.client, l.namespace) {
			now, err := s.list(t.Context(), metav1.ListOptions{})
			if err != nil {
				return false, err.Error()
			}
			_ = meta.EachListItem(now, func(o runtime.Object) error {
				m, err := meta.Accessor(o)
				if err == nil {
					there[m.GetUID()] = m.GetResourceVersion()
				}
				return err
			})
		}

		l.mu.Lock()
		defer l.mu.Unlock()
		if l.closed {
			t.Fatal("a watch of the ledger's has ended")
		}

		for uid, version := range there {
			if l.there[uid] != version {
				return false, fmt.Sprintf("version %s of %s is missing", version, uid)
			}
		}
		return len(there) == len(l.there), fmt.Sprintf("%d objects, the ledger has %d", len(there), len(l.there))
	})
	return l.closeAndJudge(t)
}

// closeAndJudge ends the watches and judges what they have delivered, also when a test has failed before all was at
// rest.
func (l *Ledger) closeAndJudge(t testing.TB) Seen {
	t.Helper()
	l.once.Do(func() {
		for _, stop := range l.stop {
			stop()
		}
		l.ended.Wait()
		var wrong []string
		l.seen, wrong = judgeEntries(l.entries)
		for i, x := range wrong {
			if i == 10 {
				t.Errorf("and %d more", len(wrong)-i)
				break
			}
			t.Error(x)
		}
	})
	return l.seen
}

// judgeEntries puts the entries into order and follows them. A moment of rest comes after what it rests upon.
func judgeEntries(entries []entry) (Seen, []string) {
	slices.SortStableFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.revision, b.revision), -cmp.Compare(sortRank(a), sortRank(b)))
	})
	b := newBook()
	for _, e := range entries {
		b.followEntry(e)
	}
	return b.seen, b.wrong
}

func sortRank(e entry) int {
	if e.object == nil {
		return 0
	}
	return 1
}
