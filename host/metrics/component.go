package metrics

import (
	"cmp"
	"context"
	"runtime"
	"strconv"
	"strings"
	"sync"

	utilversion "k8s.io/apimachinery/pkg/util/version"
	clientfeatures "k8s.io/client-go/features"
	"k8s.io/component-base/metrics/prometheus/compatversion"
	"k8s.io/component-base/metrics/prometheus/feature"
	"k8s.io/component-base/version"

	"github.com/windlass-dev/windlass/host/process"
)

// Component is what this process stands in for: dashboards and alerts choose their series by that name.
const Component = "kube-controller-manager"

// RecordFeatures sets upstream's metrics of the process that never change: which of client-go's gates are on (there are
// no others here), and which release's behaviour this is. As upstream, it is compatible with the release before.
var RecordFeatures = sync.OnceValue(func() error {
	minor := version.DefaultKubeBinaryVersion
	compatversion.RecordCompatVersionInfo(context.Background(), "kube",
		cmp.Or(strings.TrimPrefix(process.Release(), "v"), minor), minor,
		utilversion.MustParse(minor).SubtractMinor(1).String())
	return clientfeatures.AddFeaturesToExistingFeatureGates(gates{})
})

// gates takes client-go's feature gates.
type gates struct{}

// Add is for client-go.
func (gates) Add(all map[clientfeatures.Feature]clientfeatures.FeatureSpec) error {
	for name, spec := range all {
		feature.RecordFeatureInfo(context.Background(), string(name), string(spec.PreRelease),
			clientfeatures.FeatureGates().Enabled(name))
	}
	return nil
}

// buildInfo are the labels of kubernetes_build_info.
var buildInfo = sync.OnceValue(func() []string {
	release, b := process.Release(), process.Built()
	major, minor := "", ""
	if v, err := utilversion.ParseSemantic(release); err == nil {
		major, minor = strconv.Itoa(int(v.Major())), strconv.Itoa(int(v.Minor()))
	}
	return []string{major, minor, cmp.Or(release, "unknown"), b.Commit, b.State, b.Date, runtime.Version(),
		runtime.Compiler, runtime.GOOS + "/" + runtime.GOARCH}
})
