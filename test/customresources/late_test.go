package customresources

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// laterLists holds the requests of one resource's collection but for those of its first reader until it is open, and
// discovery, which the collector begins with, until that reader has begun.
type laterLists struct {
	path  string
	first chan struct{}
	open  chan struct{}
	begun atomic.Int32
	held  atomic.Int32
}

func (l *laterLists) wrap(c *rest.Config) {
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return trip(func(r *http.Request) (*http.Response, error) {
			lists := r.URL.Query().Get("sendInitialEvents") == "true" || r.URL.Query().Get("watch") == ""
			var until chan struct{}
			switch {
			case r.URL.Path == "/api":
				until = l.first
			case r.Method == http.MethodGet && r.URL.Path == l.path && lists:
				if l.begun.Add(1) == 1 {
					close(l.first)
					break
				}
				l.held.Add(1)
				until = l.open
			}

			if until != nil {
				select {
				case <-until:
				case <-r.Context().Done():
					return nil, r.Context().Err()
				}
			}
			return next.RoundTrip(r)
		})
	})
}

// The collector reads more of jobs than the controller that had begun to read them before. What changes until the cache
// has that, as a job that is deleted in the foreground, it hears of once the cache has.
func TestLaterReader(t *testing.T) {
	t.Parallel()
	x := cluster.Start(t, cluster.Options{})
	c := &collected{t: t, client: dynamic.NewForConfigOrDie(x.RESTConfig())}
	lists := &laterLists{path: "/apis/batch/v1/jobs", first: make(chan struct{}), open: make(chan struct{})}
	windlass.Start(t, x, windlass.Options{Controllers: []string{collector, "ttl-after-finished-controller"},
		Wrap: lists.wrap, Patience: time.Second})
	c.eventually("the collector's list is held", func() (bool, string) {
		return lists.held.Load() > 0, fmt.Sprint(lists.begun.Load(), " have begun")
	})

	for _, name := range []string{"job", "after"} { // when the second one is deleted, the cache has that the first one is
		c.createFinishedJob(name)
		c.eventually(name+" is being deleted", func() (bool, string) {
			job, err := c.client.Resource(jobs).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
			return err == nil && job.GetDeletionTimestamp() != nil, fmt.Sprint(err)
		})
	}
	close(lists.open)
	for _, name := range []string{"job", "after"} {
		c.awaitGone(jobs, name)
		c.awaitGone(configMaps, name+"-child")
	}
}
