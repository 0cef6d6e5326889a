package customresources

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// answers changes what the API server answers to some requests.
type answers struct {
	to      func(*http.Request) bool
	change  func(*http.Response) error
	on      atomic.Bool
	changed atomic.Int32
}

func (a *answers) wrap(c *rest.Config) {
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if !a.on.Load() || !a.to(r) {
				return next.RoundTrip(r)
			}
			r = r.Clone(r.Context())
			r.Header.Del("If-None-Match") // a whole answer is wanted, and none is kept
			got, err := next.RoundTrip(r)
			if err != nil {
				return nil, err
			}
			got.Header.Del("ETag")
			if err := a.change(got); err != nil {
				return nil, err
			}
			a.changed.Add(1)
			return got, nil
		})
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// replace puts another body into an answer.
func replace(r *http.Response, body []byte) error {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Del("Content-Encoding")
	return nil
}

// An API server that says for a while that it serves nothing at all is not believed: what is watched is watched on.
func TestDiscoveryIsEmpty(t *testing.T) {
	t.Parallel()
	x := cluster.Start(t, cluster.Options{})
	empty := &answers{
		to: func(r *http.Request) bool { return r.URL.Path == "/api" || r.URL.Path == "/apis" },
		change: func(r *http.Response) error {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			_ = r.Body.Close()
			var list map[string]any
			if err := json.Unmarshal(b, &list); err != nil {
				return fmt.Errorf("%s: %w", b, err)
			}
			list["items"] = []any{}
			if b, err = json.Marshal(list); err != nil {
				return err
			}
			return replace(r, b)
		},
	}

	windlass.Start(t, x, windlass.Options{Controllers: []string{collector}, Wrap: empty.wrap})
	c := &collected{t: t, client: dynamic.NewForConfigOrDie(x.RESTConfig())}
	c.createFamily()
	empty.on.Store(true)
	seen := empty.changed.Load()

	// it is a reason to look
	c.must(c.client.Resource(definitions).Create(t.Context(), otherKind("others", "Other"), metav1.CreateOptions{}))
	c.eventually("it has looked", func() (bool, string) { n := empty.changed.Load(); return n >= seen+2, fmt.Sprint(n) })
	c.deleteObject(configMaps, "owner", metav1.DeletePropagationOrphan)
	c.awaitGone(configMaps, "owner") // which it has seen to be the child's
	empty.on.Store(false)
	c.checkChildKept()
	c.awaitRediscovery()
}

// A resource whose first lists the API server is too busy to answer is waited for: the dependents that it has are let
// go before their owner.
func TestAFirstListIsRefused(t *testing.T) {
	t.Parallel()
	x := cluster.Start(t, cluster.Options{})
	c := &collected{t: t, client: dynamic.NewForConfigOrDie(x.RESTConfig())}
	const dependents = 20
	owner := c.createObject(serviceAccounts, newObject("v1", "ServiceAccount", "owner", nil))
	for i := range dependents {
		c.createObject(configMaps, newObject("v1", "ConfigMap", fmt.Sprint("dependent-", i), owner))
	}
	c.deleteObject(serviceAccounts, "owner", metav1.DeletePropagationOrphan)

	const tooMany = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "too many requests", "reason": "TooManyRequests", "code": 429}`
	busy := &answers{
		to: func(r *http.Request) bool {
			return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/configmaps")
		},
		change: func(r *http.Response) error {
			_ = r.Body.Close()
			r.StatusCode, r.Status = http.StatusTooManyRequests, "429 Too Many Requests"
			r.Header.Set("Content-Type", "application/json")
			return replace(r, []byte(tooMany))
		},
	}
	busy.on.Store(true)
	m := windlass.Begin(t, x, windlass.Options{Controllers: []string{collector}, Wrap: busy.wrap})
	c.eventually("it was refused a list, more than once", func() (bool, string) {
		n := busy.changed.Load()
		return n >= 2, fmt.Sprint(n)
	})
	if o, err := c.client.Resource(serviceAccounts).Namespace(namespace).Get(t.Context(), "owner",
		metav1.GetOptions{}); err != nil {
		t.Fatalf("the owner went before its dependents were known: %v %v", o, err)
	}
	busy.on.Store(false)
	m.AwaitReady(t)
	c.awaitGone(serviceAccounts, "owner")
	for i := range dependents {
		o := c.must(c.client.Resource(configMaps).Namespace(namespace).Get(t.Context(), fmt.Sprint("dependent-", i),
			metav1.GetOptions{}))
		if len(o.GetOwnerReferences()) > 0 {
			t.Errorf("%s still has an owner: %v", o.GetName(), o.GetOwnerReferences())
		}
	}
}
