package leadership

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/test/windlass"
)

// gate holds requests for a resource's collection back while it is shut.
type gate struct {
	resource string

	mu   sync.Mutex
	shut chan struct{} // nil: it is open
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = make(chan struct{})
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.shut)
	g.shut = nil
}

func (g *gate) wrap(c *rest.Config) {
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return trip(func(r *http.Request) (*http.Response, error) {
			g.mu.Lock()
			shut := g.shut
			g.mu.Unlock()
			if shut != nil && r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/"+g.resource) {
				select {
				case <-shut:
				case <-r.Context().Done():
					return nil, r.Context().Err()
				}
			}
			return next.RoundTrip(r)
		})
	})
}

// In its second term the collector takes nothing for absent that its caches don't show yet: an owner that was deleted
// meanwhile, whose dependents are to be let go, waits for them, and all else goes on, one that waits for its dependents
// in the foreground, too.
func TestTheCollectorsSecondTerm(t *testing.T) {
	t.Parallel()
	for _, standby := range []string{"cold", "warm"} {
		t.Run(standby, func(t *testing.T) {
			t.Parallel() // each waits half a minute, until the collector goes on without what can't be listed
			secondTerm(t, beginWorld(t), standby)
		})
	}
}

func secondTerm(t *testing.T, w *world, standby string) {
	const dependents = 20
	ns := standby + "-collected"
	windlass.Namespace(t, w.client, ns)
	core := w.client.CoreV1()
	owner, err := core.ServiceAccounts(ns).Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	mustSucceed(t, err)
	owned := func(name string, uid types.UID) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1",
			Kind: "ServiceAccount", Name: "owner", UID: uid}}}
	}
	for i := range dependents {
		_, err := core.ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: owned(fmt.Sprint("dependent-", i),
			owner.UID)}, metav1.CreateOptions{})
		mustSucceed(t, err)
	}
	configMaps := &gate{resource: "configmaps"}
	m := windlass.Start(t, w.Cluster, electing(standby, configMaps.wrap, "garbage-collector-controller"))
	defer m.Stop(t)
	collects := func(name string) {
		t.Helper()
		_, err := core.Secrets(ns).Create(t.Context(), &corev1.Secret{ObjectMeta: owned(name, "nobody")},
			metav1.CreateOptions{})
		mustSucceed(t, err)
		eventually(t, "a secret without an owner is collected", func() (bool, string) {
			_, err := core.Secrets(ns).Get(t.Context(), name, metav1.GetOptions{})
			return apierrors.IsNotFound(err), fmt.Sprintf("%v %+v", err, m.Status(t).Controllers)
		})
	}
	collects("first-term")

	front, err := core.ServiceAccounts(ns).Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "front"}}, metav1.CreateOptions{})
	mustSucceed(t, err)
	blocks := owned("blocks", front.UID)
	blocks.OwnerReferences[0].Name, blocks.OwnerReferences[0].BlockOwnerDeletion = "front", new(true)
	_, err = core.Secrets(ns).Create(t.Context(), &corev1.Secret{ObjectMeta: blocks}, metav1.CreateOptions{})
	mustSucceed(t, err)

	giveBack := w.takeLease(t, m)
	foreground := metav1.DeletePropagationForeground
	mustSucceed(t, core.ServiceAccounts(ns).Delete(t.Context(), "front",
		metav1.DeleteOptions{PropagationPolicy: &foreground}))
	orphan := metav1.DeletePropagationOrphan
	mustSucceed(t, core.ServiceAccounts(ns).Delete(t.Context(), "owner", metav1.DeleteOptions{PropagationPolicy: &orphan}))
	configMaps.close()
	giveBack()
	collects("second-term")
	eventually(t, "the owner that waits in the foreground is gone", func() (bool, string) {
		_, err := core.ServiceAccounts(ns).Get(t.Context(), "front", metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprintf("%v %+v", err, m.Status(t).Controllers)
	})
	eventually(t, "what it goes on without is told", func() (bool, string) {
		s := m.Status(t)
		return len(s.Controllers[0].Unlisted) == 1 && s.Controllers[0].Unlisted[0].Resource == "v1/configmaps",
			fmt.Sprintf("%+v", s.Controllers)
	})
	if _, err := core.ServiceAccounts(ns).Get(t.Context(), "owner", metav1.GetOptions{}); err != nil {
		t.Errorf("the owner was let go while its dependents couldn't be seen: %v", err)
	}

	configMaps.open()
	eventually(t, "the owner is gone", func() (bool, string) {
		o, err := core.ServiceAccounts(ns).Get(t.Context(), "owner", metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprintf("%v %v", o, err)
	})
	left, err := core.ConfigMaps(ns).List(t.Context(), metav1.ListOptions{})
	mustSucceed(t, err)
	n := 0
	for i := range left.Items {
		if c := &left.Items[i]; strings.HasPrefix(c.Name, "dependent-") {
			n++
			if len(c.OwnerReferences) > 0 {
				t.Errorf("%s still has an owner", c.Name)
			}
		}
	}
	if n != dependents {
		t.Errorf("%d dependents are left, want %d", n, dependents)
	}
}
