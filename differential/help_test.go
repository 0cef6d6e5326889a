package differential

import (
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/informers"
	"k8s.io/component-base/metrics/legacyregistry"
	informer "k8s.io/component-base/metrics/prometheus/clientgo/fifo"
	controllers "k8s.io/component-base/metrics/prometheus/controllers"
	_ "k8s.io/component-base/metrics/prometheus/version" // kubernetes_build_info
	endpointslice "k8s.io/endpointslice/metrics"
	_ "k8s.io/kubernetes/pkg/controller/certificates/clustertrustbundlepublisher" // which registers its metrics
	rootca "k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	cronjob "k8s.io/kubernetes/pkg/controller/cronjob/metrics"
	daemonset "k8s.io/kubernetes/pkg/controller/daemon/metrics"
	mirroring "k8s.io/kubernetes/pkg/controller/endpointslicemirroring/metrics"
	garbagecollector "k8s.io/kubernetes/pkg/controller/garbagecollector/metrics"
	job "k8s.io/kubernetes/pkg/controller/job/metrics"
	"k8s.io/kubernetes/pkg/controller/nodeipam/ipam/cidrset"
	autoscaler "k8s.io/kubernetes/pkg/controller/podautoscaler/monitor"
	podgc "k8s.io/kubernetes/pkg/controller/podgc/metrics"
	replicaset "k8s.io/kubernetes/pkg/controller/replicaset/metrics"
	statefulset "k8s.io/kubernetes/pkg/controller/statefulset/metrics"
	finished "k8s.io/kubernetes/pkg/controller/ttlafterfinished/metrics"
	ephemeral "k8s.io/kubernetes/pkg/controller/volume/ephemeral/metrics"

	"github.com/windlass-dev/windlass/host/metrics"
	"github.com/windlass-dev/windlass/plugins/builtin"
)

// described are the name and the text of a metric, as its description prints them.
var described = regexp.MustCompile(`^Desc\{fqName: ("(?:[^"\\]|\\.)*"), help: ("(?:[^"\\]|\\.)*"), `)

// upstreamHelps returns the texts of upstream's metrics, by their names.
func upstreamHelps(t *testing.T) map[string]string {
	t.Helper()
	for _, register := range []func(){
		autoscaler.Register, controllers.Register, cronjob.Register, daemonset.Register, endpointslice.RegisterMetrics,
		ephemeral.RegisterMetrics, finished.Register, garbagecollector.Register, informer.Register, job.Register,
		mirroring.RegisterMetrics, podgc.RegisterMetrics, statefulset.Register,
	} {
		register()
	}
	if err := replicaset.Register(legacyregistry.Register); err != nil {
		t.Fatal(err)
	}
	all := informers.NewSharedInformerFactory(nil, 0).Core().V1()
	// which registers its metrics
	if _, err := rootca.NewPublisher(all.ConfigMaps(), all.Namespaces(), nil, nil); err != nil {
		t.Fatal(err)
	}

	ranges := &net.IPNet{IP: net.IPv4(10, 0, 0, 0).To4(), Mask: net.CIDRMask(16, 32)}
	if _, err := cidrset.NewCIDRSet(ranges, 24); err != nil { // as does this
		t.Fatal(err)
	}

	descriptions := make(chan *prometheus.Desc)
	go func() {
		legacyregistry.Registerer().(prometheus.Collector).Describe(descriptions)
		close(descriptions)
	}()

	helps := map[string]string{}
	for d := range descriptions {
		m := described.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("what is the text of %s?", d)
		}
		name, err := strconv.Unquote(m[1])
		if err != nil {
			t.Fatal(err)
		}
		if helps[name], err = strconv.Unquote(m[2]); err != nil {
			t.Fatal(err)
		}
	}
	return helps
}

// The metrics of the built-in controllers and of the manager have the texts that upstream's have, with how stable
// upstream says that they are. Those that both take from the same libraries (workqueue_*, rest_client_*,
// leader_election_*) are the same.
func TestHelpAsUpstream(t *testing.T) {
	ours := map[string]string{}
	for _, f := range metrics.Families() {
		if !strings.HasPrefix(f.Name, "windlass_") {
			ours[f.Name] = f.Help
		}
	}
	for _, c := range builtin.Controllers() {
		for _, m := range c.Plugin.Native.Manifest().Metrics {
			ours[m.Name] = m.Help
		}
	}

	upstream := upstreamHelps(t)
	for name, help := range ours {
		switch want, ok := upstream[name]; {
		case !ok:
			t.Errorf("%s isn't upstream's", name)
		case help != want:
			t.Errorf("%s:\n%q\nupstream's:\n%q", name, help, want)
		}
	}
	if len(ours) < 40 {
		t.Errorf("there are only %d metrics", len(ours))
	}
}
