package faults_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/plugins/builtin"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/faults"
	"github.com/windlass-dev/windlass/test/life"
	"github.com/windlass-dev/windlass/test/metricsapi"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

func TestMain(m *testing.M) { life.Main(m) }

// An API server that refuses to create anything for a while leaves nothing undone once it does again: each controller's
// piece of work comes to its end.
func TestRefusedCreates(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 3, Audit: true})
	lives, err := life.All("../../plugins")
	if err != nil {
		t.Fatal(err)
	}
	lives = life.Of("", lives)
	period := time.Duration(workload.Size(5, 60)) * time.Second
	var f faults.Faults
	var until atomic.Pointer[time.Time] // nil: not yet
	enough := int64(len(lives))         // however slow the machine is
	f.Refuse = func(r *http.Request) bool {
		end := until.Load()
		if end == nil || r.Method != http.MethodPost {
			return false
		}
		// Scripts wait for their namespaces' service accounts, or what they do would come when all is over.
		spared := strings.HasSuffix(r.URL.Path, "/serviceaccounts") && !strings.Contains(r.URL.Path, "/serviceaccount-work/")
		return !spared && (time.Now().Before(*end) || f.Refused.Load() < enough)
	}
	configure := func(k *config.Configuration) { k.Plugins = append(k.Plugins, life.Configured(lives, true)...) }
	windlass.Start(t, c, windlass.Options{Controllers: builtin.Names(), Wrap: f.Wrap, Configure: configure})

	stage := life.NewStage(t, c)
	stage.RestrainKubelets(t)
	stage.Metrics = metricsapi.Serve(t, c.RESTConfig())
	until.Store(new(time.Now().Add(period)))
	stage.PlayWorks(t, lives)
	if n := f.Refused.Load(); n < enough {
		t.Errorf("only %d requests were refused: the test tests nothing", n)
	}
}
