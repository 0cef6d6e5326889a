package generate_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"

	"github.com/windlass-dev/windlass/author/generate"
)

var update = flag.Bool("update", false, "write the generated files that tests use")

const rich = "testdata/rich"

// The generated files that other tests use are what is generated.
func TestFiles(t *testing.T) {
	for _, dir := range []string{rich, "../../test/docs/customresources"} {
		o := generate.Options{Dir: dir, CRDs: dir + "/crd", Check: !*update, Out: os.Stderr}
		if err := generate.Run(t.Context(), o); err != nil {
			t.Errorf("%v\n(here: go test ./author/generate -update)", err)
		}
	}
}

// The definitions are what controller-gen makes of the same structs with Kubernetes' own types, byte for byte.
func TestDefinitionsAreControllerGens(t *testing.T) {
	original, err := os.MkdirTemp("testdata", "original-") // in this module, whose requirements it needs
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { os.RemoveAll(original) })
	for _, name := range []string{"shared/shared.go", "v1/types.go"} {
		b, err := os.ReadFile(filepath.Join(rich, name))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(original, name), kubernetes(string(b), filepath.Base(original)))
	}

	g := genall.Generator(crd.Generator{OmitToolVersion: new(true)})
	r, err := genall.Generators{&g}.ForRoots("./" + original + "/v1")
	if err != nil {
		t.Fatal(err)
	}

	made := t.TempDir()
	r.OutputRules.Default = genall.OutputToDirectory(made)
	var problems bytes.Buffer
	if r.ErrorWriter = &problems; r.Run() {
		t.Fatalf("controller-gen: %s%v", &problems, r.Roots[0].Errors)
	}

	names, err := filepath.Glob(made + "/*.yaml")
	if err != nil || len(names) != 2 {
		t.Fatalf("controller-gen made %v (%v)", names, err)
	}

	for _, name := range names {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(rich, "crd", filepath.Base(name)))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs from controller-gen's:\n%s", filepath.Base(name), firstDifference(string(got), string(want)))
		}
	}
}

// kubernetes turns a file on the SDK's types into one on Kubernetes'.
func kubernetes(s, folder string) string {
	const sdk = "github.com/windlass-dev/windlass/sdk/"
	s = strings.NewReplacer(
		sdk+"api/meta/v1", "k8s.io/apimachinery/pkg/apis/meta/v1",
		sdk+"api/core/v1", "k8s.io/api/core/v1",
		sdk+"api/apiextensions/v1", "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
		sdk+"resource", "k8s.io/apimachinery/pkg/api/resource",
		"testdata/rich/", "testdata/"+folder+"/",
		"metav1.StringMap", "map[string]string",
		"metav1.IntOrString", "intstr.IntOrString",
		"metav1.RawExtension", "runtime.RawExtension",
		"import (", "import (\n\t\"k8s.io/apimachinery/pkg/runtime\"\n\t\"k8s.io/apimachinery/pkg/util/intstr\"\n",
	).Replace(s)

	const m = "metav1.Map["
	for i := strings.Index(s, m); i >= 0; i = strings.Index(s, m) {
		open, end := 1, i+len(m)
		for ; open > 0; end++ {
			switch s[end] {
			case '[':
				open++
			case ']':
				open--
			}
		}
		key, value, _ := strings.Cut(s[i+len(m):end-1], ", ")
		s = s[:i] + "map[" + key + "]" + value + s[end:]
	}
	return regexp.MustCompile(`(?m)^\tXUnknown .*\n`).ReplaceAllString(s, "")
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			from, to := max(i-3, 0), i+3
			return strings.Join(a[from:min(to, len(a))], "\n") + "\n--- controller-gen's:\n" +
				strings.Join(b[from:min(to, len(b))], "\n")
		}
	}
	return "one is longer"
}
