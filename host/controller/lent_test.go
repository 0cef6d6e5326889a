package controller

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/awaiting"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/syncer"
	"github.com/windlass-dev/windlass/host/views"
)

// A key whose write isn't answered holds no worker, not even where there is but one: others go on within seconds. It
// stays taken until its sync has ended, and is shown with what it waits for.
func TestHangingWriteHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung := newHangingServer()
		c, stop := hanging(t, hung, "hung", "shop")
		c.Wake(Key{Name: "hung"})
		time.Sleep(time.Millisecond) // virtual, as all time here: the one worker has it
		c.Wake(Key{Name: "shop"})
		c.Wake(Key{Name: "hung"})
		time.Sleep(awaiting.Long)
		synctest.Wait()
		if n := hung.count("shop"); n != 1 {
			t.Fatalf("namespace shop was written %d times while another one's write hangs", n)
		}

		time.Sleep(slowMin - awaiting.Long)
		if n := hung.count("hung"); n != 1 || c.Syncing() != 1 {
			t.Errorf("the key whose write hangs was synced again meanwhile: %d writes, %d syncs", n, c.Syncing())
		}
		slow, longest := c.Slow()
		want := "the API server's answer to create v1/serviceaccounts hung/ (for 30s)"
		if slow != 1 || longest.Key != "hung" || len(longest.WaitsFor) != 1 || longest.WaitsFor[0] != want {
			t.Errorf("%d keys are slow: %+v", slow, longest)
		}

		close(hung.release)
		time.Sleep(time.Second)
		synctest.Wait()
		if now, _ := c.Away(); now != 0 || c.Workers() != 1 || c.running() != 1 {
			t.Errorf("after all: %d syncs away, %d of %d workers", now, c.running(), c.Workers())
		}
		if n := hung.count("hung"); n != 2 {
			t.Errorf("the key that was woken during its sync was written %d times", n)
		}
		stop()
	})
}

// However many writes hang there are only so many syncs, and another key goes on within seconds; the controller stops
// in time.
func TestHangingWritesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung := newHangingServer()
		names := []string{"shop"}
		for i := range 3 * awayFew {
			names = append(names, fmt.Sprint("hung-", i))
		}
		c, stop := hanging(t, hung, names...)
		most := 0
		for i, name := range names[1:] {
			c.Wake(Key{Name: name})
			time.Sleep(awaiting.Long)
			synctest.Wait()
			most = max(most, c.Syncing())
			if now, ended := c.Away(); i == awayFew-1 && (now != awayFew || ended != 0) {
				t.Errorf("%d syncs are away, %d ended", now, ended)
			}
		}
		// Those that have been ended may take some seconds until they are.
		if _, ended := c.Away(); most > 2*awayFew || ended == 0 {
			t.Errorf("up to %d syncs at once, %d ended for others", most, ended)
		}
		_, why := c.Quarantined()
		if failing, _, _ := c.StuckCount(); failing == 0 || why != nil {
			t.Errorf("%d keys whose syncs were ended are failing; quarantined: %v", failing, why)
		}

		c.Wake(Key{Name: "shop"})
		time.Sleep(2 * time.Duration(c.Depth()) * awaiting.Long)
		synctest.Wait()
		if hung.count("shop") == 0 {
			t.Error("a key waits behind those whose writes hang")
		}
		if took := stop(); took > time.Minute {
			t.Errorf("stopping took %v", took)
		}
	})
}

// running is how many workers there are that hold one.
func (c *Controller) running() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.workers
}

// hangingServer is an API server that doesn't answer what is written to namespaces called hung.
type hangingServer struct {
	release chan struct{}
	mu      sync.Mutex
	written map[string]int
}

func newHangingServer() *hangingServer {
	return &hangingServer{release: make(chan struct{}), written: map[string]int{}}
}

func (h *hangingServer) count(namespace string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.written[namespace]
}

// RoundTrip answers, some time or other, that the service account is there.
func (h *hangingServer) RoundTrip(r *http.Request) (*http.Response, error) {
	_, path, _ := strings.Cut(r.URL.Path, "/namespaces/")
	namespace, _, _ := strings.Cut(path, "/")
	h.mu.Lock()
	h.written[namespace]++
	h.mu.Unlock()
	if strings.HasPrefix(namespace, "hung") {
		select {
		case <-h.release:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}

	const there = `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 409, "reason": "AlreadyExists"}`
	return &http.Response{StatusCode: http.StatusConflict, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(there)), Request: r}, nil
}

// hanging runs a controller with one worker that creates the service accounts of namespaces; stop ends it.
func hanging(t *testing.T, server http.RoundTripper, namespaces ...string) (c *Controller, stop func() time.Duration) {
	t.Helper()
	found, err := plugins.Named("builtin:serviceaccount")
	if err != nil {
		t.Fatalf("%v: run make plugins", err)
	}
	l, err := plugins.Open(t.Context(), found, sandbox.Options{Gate: sandbox.NewGate(1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := l.Manifest.Controllers[0]
	plan, err := views.Compile(&m)
	if err != nil {
		t.Fatal(err)
	}
	writer, err := effects.New(effects.Options{Controller: &m, Timeout: time.Hour,
		Config: &rest.Config{Host: "http://example.com", Transport: server}})
	if err != nil {
		t.Fatal(err)
	}
	writer.Lead()

	r := abi.Resource{Version: "v1", Name: "namespaces"}
	s, err := schema.For(r)
	if err != nil {
		t.Fatal(err)
	}
	all := objects{}
	for _, name := range namespaces {
		n := corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u"}}
		n.Status.Phase = corev1.NamespaceActive
		raw, err := n.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		all[name] = &cache.Object{Resource: s, Name: name, UID: "u", Raw: raw}
	}

	v := &Version{Target: syncer.Target{Manifest: &m, Module: l.Module, Plan: plan, Writer: writer}, Metrics: unmeasured{}}
	c = New(Options{World: world{r: all}, Concurrent: 1}, v)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Run(ctx, 10*time.Second)
	}()
	return c, func() time.Duration {
		began := time.Now()
		cancel()
		<-ended
		took := time.Since(began)
		_ = l.Close(context.Background())
		return took
	}
}
