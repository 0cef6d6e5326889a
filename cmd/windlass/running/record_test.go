package running

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/cmd/windlass/answer/answertest"
	"github.com/windlass-dev/windlass/cmd/windlass/running/runningtest"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/state"
)

// serveExplanation serves what a windlass that runs here would, as far as explain is concerned.
func serveExplanation(t *testing.T) string {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/explain", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		e := state.Explanation{Resource: "v1/" + q.Get("resource"), Namespace: q.Get("namespace"), Name: q.Get("name"),
			Writes: []record.Write{}}
		if e.Name == "web" {
			e.Writes = append(e.Writes, record.Write{Time: time.Now().Add(-time.Minute), Controller: "replicaset-controller",
				Plugin: "replicaset", Version: "1.0.0", Digest: "sha256:ab", Verb: "create",
				ResourceVersion: "12", Key: "shop/web-5d", Writes: []string{"create v1/pods", "update apps/v1/replicasets/status"},
				Result: "ok"})
		}
		_ = json.NewEncoder(w).Encode(e)
	})
	return runningtest.Known(t, mux)
}

func TestExplain(t *testing.T) {
	server := serveExplanation(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"pods/web", "-n", "shop"}, `v1/pods shop/web

replicaset-controller: create, 1m0s ago, resourceVersion 12
  plugin  replicaset 1.0.0 sha256:ab
  sync    of shop/web-5d: ok
  wrote   create v1/pods, update apps/v1/replicasets/status
`},
		{[]string{"pods/api"}, "v1/pods default/api: no controller of this windlass has written it since its start, as far as it remembers\n"},
		{[]string{"pods/api", "-o", "yaml"}, "writes: []\n"},
	} {
		cmd, stdout, stderr := answertest.Command(t, append([]string{"explain", "--server", server}, c.args...)...)
		if err := cmd.Run(); err != nil || !strings.HasSuffix(stdout.String(), c.want) {
			t.Errorf("%v: %v: %s%s", c.args, err, stdout, stderr)
		}
	}
	cmd, _, stderr := answertest.Command(t, "explain", "web", "--server", server)
	if err := cmd.Run(); err == nil || !strings.Contains(stderr.String(), "must be KIND/NAME, such as deployment/web") {
		t.Errorf("%v: %s", err, stderr)
	}
}
