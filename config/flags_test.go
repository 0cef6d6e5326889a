package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func fromFlags(t *testing.T, args ...string) (*Configuration, error) {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return FromFlags(fs)
}

func TestFromFlagsDefaults(t *testing.T) {
	got, err := fromFlags(t)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Default(), got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// A flag goes before the environment, the environment before the file.
func TestFromFlagsOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	text := head + "controllers: [file]\nclientConnection: {qps: 1, burst: 1, kubeconfig: file}\nplugins: [{name: CamelCase, settings: {A.b: C}}]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("WINDLASS_CONFIG", path)
	t.Setenv("WINDLASS_KUBE_API_QPS", "2")
	t.Setenv("WINDLASS_KUBE_API_BURST", "2")
	t.Setenv("WINDLASS_CONTROLLERS", "*,-ttl")
	t.Setenv("WINDLASS_SERVICE_HOST", "10.0.0.1") // what Kubernetes sets for a service named windlass
	got, err := fromFlags(t, "--kube-api-burst=3", "--secure-port=0", "--bind-address=::")
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.ClientConnection = ClientConnection{Kubeconfig: "file", QPS: 2, Burst: 3}
	want.Controllers = []string{"*", "-ttl"}
	want.Serving.Port, want.Serving.BindAddress = 0, "::"
	want.Plugins = []Plugin{{Name: "CamelCase", Settings: map[string]string{"A.b": "C"}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// An empty list is a list without a controller, and not the default.
func TestFromFlagsNoControllers(t *testing.T) {
	got, err := fromFlags(t, "--controllers=")
	if err != nil || len(got.Controllers) > 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestFromFlagsRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		args []string
		want []string
	}{
		"environment not a number": {map[string]string{"WINDLASS_KUBE_API_QPS": "many"}, nil,
			[]string{"WINDLASS_KUBE_API_QPS: ", `"many"`, "kube-api-qps"}},
		"environment bad value": {map[string]string{"WINDLASS_KUBE_API_BURST": "-1"}, nil,
			[]string{"configuration with WINDLASS_KUBE_API_BURST: clientConnection.burst: Invalid value: -1"}},
		"flag bad value": {nil, []string{"--secure-port=70000"},
			[]string{"configuration with --secure-port: serving.port: Invalid value"}},
		"no such file": {nil, []string{"--config=/nowhere.yaml"},
			[]string{"configuration: open /nowhere.yaml: no such file"}},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			_, err := fromFlags(t, c.args...)
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in: %v", want, err)
				}
			}
		})
	}
}
