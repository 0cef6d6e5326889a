package effects

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema/schematest"
)

// Which keys wait is told, with what for: a few things of each, and the longest wait first.
func TestParked(t *testing.T) {
	pods := abi.Resource{Version: "v1", Name: "pods"}
	store := &goneStore{objects: map[string]*cache.Object{}}
	w := podWriter(t)
	w.Stores = func(abi.Resource) Store { return store }
	first, second, never := abi.KeyRef{Namespace: "default", Name: "web"}, abi.KeyRef{Namespace: "default", Name: "db"},
		abi.KeyRef{Namespace: "default", Name: "idle"}
	w.wait.written(first, pods, "7")
	for i := range 2 * parkedFor {
		p := templatePod()
		p.Name, p.UID = fmt.Sprint("db-", i), types.UID(fmt.Sprint("uid-", i))
		store.objects[p.Name] = &cache.Object{Namespace: p.Namespace, Name: p.Name, UID: p.UID, Raw: schematest.Marshal(t, p)}
		w.wait.removed(second, gone{resource: pods, namespace: p.Namespace, name: p.Name, uid: string(p.UID), deleted: true})
	}
	w.wait.written(never, pods, "8")
	woken := make(chan struct{}, 2)
	w.Park(first, func() { woken <- struct{}{} })
	w.Park(second, func() { woken <- struct{}{} })

	keys, all := w.Parked(10)
	if all != 2 || len(keys) != 2 || keys[0].Key != first || keys[1].Key != second ||
		time.Since(keys[0].Since) > time.Minute {
		t.Fatalf("%d: %+v", all, keys)
	}
	if got := fmt.Sprint(keys[0].For); got != "[v1/pods at resourceVersion 7: the cache is at 1]" {
		t.Errorf("the first waits for %s", got)
	}
	if got := keys[1].For; len(got) != parkedFor+1 || !strings.HasPrefix(got[0], "v1/pods default/db-") ||
		!strings.HasSuffix(got[0], " to go") || got[parkedFor] != "perhaps more" {
		t.Errorf("the second waits for %q", got)
	}
	if keys, all := w.Parked(1); all != 2 || len(keys) != 1 {
		t.Errorf("%d of %d", len(keys), all)
	}
	clear(store.objects)
	w.Progress(pods)
	<-woken
	if _, all := w.Parked(0); all != 1 {
		t.Errorf("%d wait still", all)
	}
}
