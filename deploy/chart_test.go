package deploy

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	chartutil "helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	chartFolder = "charts/windlass"
	monitoring  = "monitoring.coreos.com/v1"
)

var update = flag.Bool("update", false, "write the generated files anew")

// release is what helm install would be told.
type release struct {
	name, namespace string
	values          string   // YAML
	apis            []string // that the cluster has beside the built-in ones
}

// rendered is what a release consists of.
type rendered struct {
	text    []string // documents, in helm's order of installation
	objects []*unstructured.Unstructured
	notes   string
}

// get returns the object of a kind and a name.
func (r *rendered) get(t *testing.T, kind, name string) *unstructured.Unstructured {
	t.Helper()
	i := slices.IndexFunc(r.objects, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == kind && o.GetName() == name
	})
	if i < 0 {
		var have []string
		for _, o := range r.objects {
			have = append(have, o.GetKind()+" "+o.GetName())
		}
		t.Fatalf("%s %s isn't rendered; there are: %s", kind, name, strings.Join(have, ", "))
	}
	return r.objects[i]
}

func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.LoadDir(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// renderChart does what helm template does, without the rest of helm, which takes minutes to compile.
func (r release) renderChart(t *testing.T) (*rendered, error) {
	t.Helper()
	values, err := common.ReadValues([]byte(r.values))
	if err != nil {
		t.Fatal(err)
	}

	c, caps := loadChart(t), common.DefaultCapabilities.Copy()
	version, err := common.ParseKubeVersion("v1.37.0")
	if err != nil {
		t.Fatal(err)
	}

	caps.KubeVersion = *version
	caps.APIVersions = append(slices.Clone(caps.APIVersions), r.apis...)
	all, err := chartutil.ToRenderValues(c, values,
		common.ReleaseOptions{Name: r.name, Namespace: r.namespace, Revision: 1, IsInstall: true}, caps)
	if err != nil {
		return nil, err
	}

	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}

	out := &rendered{}
	maps.DeleteFunc(files, func(name, text string) bool {
		if strings.HasSuffix(name, "NOTES.txt") {
			out.notes = text
		}
		return strings.HasSuffix(name, "NOTES.txt") || strings.HasSuffix(name, ".tpl")
	})

	hooks, manifests, err := releaseutil.SortManifests(files, caps.APIVersions, releaseutil.InstallOrder)
	if err != nil {
		return nil, err
	}

	if len(hooks) > 0 {
		t.Errorf("%s is a hook", hooks[0].Path)
	}
	for _, m := range manifests {
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(m.Content), &o.Object); err != nil {
			return nil, fmt.Errorf("%s: %w:\n%s", m.Name, err, m.Content)
		}
		out.text, out.objects = append(out.text, strings.TrimSpace(m.Content)+"\n"), append(out.objects, o)
	}

	return out, nil
}

func (r release) mustRender(t *testing.T) *rendered {
	t.Helper()
	out, err := r.renderChart(t)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// image is a value that every release needs.
const image = "image: {repository: registry.example/windlass}\n"

// generated compares a file with what it should be, or writes it.
func generated(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is stale (%v): cd deploy && go test -run '%s' -update", path, err, t.Name())
	}
}

// The files of a Secret are what is signed with; what isn't to be signed has none.
func TestSigningSecret(t *testing.T) {
	for values, want := range map[string]map[string]any{
		"": nil,
		"signing: {secret: keys}": {"certFile": "/etc/windlass-signing/ca.crt", "keyFile": "/etc/windlass-signing/ca.key",
			"serviceAccountKeyFile": "/etc/windlass-signing/sa.key"},
		"signing: {secret: keys, serviceAccountKeyFile: ''}\nconfig: {signing: {duration: 1h}}": {
			"certFile": "/etc/windlass-signing/ca.crt", "keyFile": "/etc/windlass-signing/ca.key", "duration": "1h"},
	} {
		values := "nativeManager: stopped\n" + image + values
		out := release{name: "windlass", namespace: "kube-system", values: values}.mustRender(t)
		text, _, err := unstructured.NestedString(out.get(t, "ConfigMap", "windlass").Object, "data", "windlass.yaml")
		var config struct{ Signing map[string]any }
		if err == nil {
			err = yaml.Unmarshal([]byte(text), &config)
		}
		if err != nil || !reflect.DeepEqual(config.Signing, want) {
			t.Errorf("%q: signing is %v, %v, want %v", values, config.Signing, err, want)
		}

		raw, err := yaml.Marshal(out.get(t, "Deployment", "windlass").Object)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"secretName: keys", "mountPath: /etc/windlass-signing"} {
			if strings.Contains(string(raw), part) != (want != nil) {
				t.Errorf("%q: the pod has %q: %v", values, part, want == nil)
			}
		}
	}
}
