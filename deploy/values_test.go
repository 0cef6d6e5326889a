package deploy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
)

// examples returns the files of values, and the defaults as "".
func examples(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"defaults": image}
	files, err := filepath.Glob("examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("examples: %v %v", files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(f)] = string(b) + image
	}
	return all
}

func TestLint(t *testing.T) {
	for name, values := range examples(t) {
		v, err := common.ReadValues([]byte(values))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range lint.RunAll(chartFolder, v, "kube-system").Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %v", name, m)
			}
		}
	}
}

// A wrong value gets a message that names it and says what to do.
func TestWrongValues(t *testing.T) {
	for _, x := range []struct{ values, want string }{
		{"replicas: three", "at '/replicas': got string, want integer"},
		{"replicas: -1", "at '/replicas': minimum: got -1, want 0"},
		{"replica: 3", "additional properties 'replica' not allowed"},
		{"image: {repositry: x}", "at '/image': additional properties 'repositry' not allowed"},
		{"image: {repository: 'registry.example/windlass:1'}",
			"at '/image/repository': 'registry.example/windlass:1' does not match pattern"},
		{"image: {repository: ''}", "image.repository: no image is published yet"},
		{"image: {pullPolicy: Sometimes}", "at '/image/pullPolicy': value must be one of 'IfNotPresent', 'Always', 'Never'"},
		{"image: {digest: abc}", "at '/image/digest': 'abc' does not match pattern"},
		{"resources: {requests: {memory: lots}}", "at '/resources/requests/memory': 'lots' does not match pattern"},
		{"config: {controllers: '*'}", "at '/config/controllers': got string, want array"},
		{"config: {controler: ['*']}", "at '/config': additional properties 'controler' not allowed"},
		{"config: {plugins: [{name: job, wrokers: 3}]}",
			"at '/config/plugins/0': additional properties 'wrokers' not allowed"},
		{"config: {plugins: [{workers: 3}]}", "config.plugins: each needs a name"},
		{"config: {sandbox: {memory: [64]}}", "at '/config/sandbox/memory': got array, want number or string"},
		{"config: {serving: {port: -1}}", "config.serving.port: -1: in a pod the port must be known"},
		{"plugins: {volume: {configMap: {name: a}, hostPath: {path: /b}}}",
			"at '/plugins/volume': maxProperties: got 2, want 1"},
		{"serviceMonitor: {interval: often}", "at '/serviceMonitor/interval': 'often' does not match pattern"},
		{"serviceAccount: {create: false}", "serviceAccount.name: with serviceAccount.create false"},
		{"nativeManager: maybe", "at '/nativeManager': value must be one of 'running', 'stopped'"},
		{"config: {leaderElection: {resourceName: mine}}",
			"config.leaderElection.resourceName: kube-system/mine isn't the Lease of kube-controller-manager"},
		{"config: {leaderElection: {groups: [{name: a, controllers: [job]}]}}",
			"config.leaderElection.groups: groups have Leases of their own"},
		{"replicas: 1\nconfig: {leaderElection: {leaderElect: false}}",
			"config.leaderElection.leaderElect: false: kube-controller-manager would run"},
		{"nativeManager: stopped\nconfig: {leaderElection: {leaderElect: false}}",
			"config.leaderElection.leaderElect: false with replicas: 2"},
	} {
		values := x.values
		if !strings.Contains(values, "image:") {
			values += "\n" + image
		}
		_, err := release{name: "windlass", namespace: "kube-system", values: values}.renderChart(t)
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: the error should contain %q: %v", x.values, x.want, err)
		}
	}
}
