package generate_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/author/generate"
)

const fine = `// +groupName=bad.example.com
package v1

import metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"

type Bad struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `
	Spec Spec ` + "`json:\"spec\"`" + `
	XUnknown metav1.Unknown ` + "`json:\"-\"`" + `
}

type Spec struct {
FIELD
	XUnknown metav1.Unknown ` + "`json:\"-\"`" + `
}

`

// Whatever is wrong with the types is said with file and line, the field's path, and what to do.
func TestProblems(t *testing.T) {
	folder, err := os.MkdirTemp("testdata", "bad-")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { os.RemoveAll(folder) })
	file := filepath.Join(folder, "types.go")
	for _, c := range []struct{ name, field, more, want string }{
		{"float", "Ratio float64 `json:\"ratio\"`", "", `types.go:14:2: Bad.spec.ratio: float64: .*resource.Quantity`},
		{"int", "N int `json:\"n\"`", "", `types.go:14:2: Bad.spec.n: int: .*int32 or int64`},
		{"unsigned", "N uint16 `json:\"n\"`", "", `Bad.spec.n: uint16: `},
		{"Go map", "M map[string]string `json:\"m\"`", "", `Bad.spec.m: map\[string\]string: .*metav1.StringMap`},
		{"Go map in a list", "M []map[string]int32 `json:\"m\"`", "", `Bad.spec.m: .*metav1.Map\[string, int32\]`},
		{"named Go map", "M M `json:\"m\"`", "type M map[string]bool",
			`types.go:18:6: Bad.spec.m: .*metav1.Map\[string, bool\]`},
		{"map of numbers", "M metav1.Map[Key, int32] `json:\"m\"`", "type Key int32", `Bad.spec.m: a map with keys of type`},
		{"interface", "A any `json:\"a\"`", "", `Bad.spec.a: an interface.*apiextensionsv1.JSON`},
		{"channel", "C chan int32 `json:\"c\"`", "", `Bad.spec.c: chan int32 has no form in JSON`},
		{"function", "F func() `json:\"f\"`", "", `Bad.spec.f: func\(\) has no form in JSON`},
		{"complex", "C complex64 `json:\"c\"`", "", `Bad.spec.c: complex64 has no form`},
		{"array", "A [3]int32 `json:\"a\"`", "", `Bad.spec.a: \[3\]int32: .*use a slice`},
		{"struct without a name", "S struct{} `json:\"s\"`", "", `Bad.spec.s: a struct without a name`},
		{"pointer to a list", "L *[]string `json:\"l\"`", "", `Bad.spec.l: a pointer to a list`},
		{"list of pointers", "L []*string `json:\"l\"`", "", `Bad.spec.l: a list of pointers`},
		{"no tag", "Count int32", "",
			"types.go:14:2: Bad.spec.Count: the field has no json tag: .*`json:\"count,omitempty\"`"},
		{"no name in the tag", "Count int32 `json:\",omitempty\"`", "", `Bad.spec.Count: the json tag has no name`},
		{"not exported", "count int32 `json:\"count\"`", "", `Bad.spec.count: the field isn't exported`},
		{"left out", "Count int32 `json:\"-\"`", "", `Bad.spec.Count: the field doesn't travel`},
		{"twice", "A int32 `json:\"a\"`\n\tB int32 `json:\"a\"`", "",
			`types.go:15:2: Bad.spec.a: another field has the JSON name`},
		{"several", "A, B int32 `json:\"a\"`", "", `Bad.spec.a: several fields share one declaration`},
		{"as text", "A int32 `json:\"a,string\"`", "", `Bad.spec.a: the json option string`},
		{"part of itself", "T []Tree `json:\"t\"`",
			"type Tree struct {\n\tKids []Tree `json:\"kids\"`\n\tXUnknown metav1.Unknown `json:\"-\"`\n}",
			`types.go:19:2: Bad.spec.t\[\].kids: Tree contains itself`},
		{"type parameters", "T Of[int32] `json:\"t\"`",
			"type Of[T any] struct {\n\tA T `json:\"a\"`\n\tXUnknown metav1.Unknown `json:\"-\"`\n}",
			`Bad.spec.t: Of has type parameters`},
		{"no room", "T Tier `json:\"t\"`", "type Tier struct {\n\tA string `json:\"a\"`\n}",
			"types.go:18:6: Bad.spec.t: Tier has no room.*XUnknown metav1.Unknown `json:\"-\"`"},
		{"unknown type", "T Tier `json:\"t\"`", "", `Bad.spec.t: unknown type`},
		{"value of a marker", "// +kubebuilder:validation:Minimum=low\n\tN int32 `json:\"n\"`", "",
			`types.go:14:2: Spec.n: invalid minimum`},
		{"marker that is none", "// +kubebuilder:validation:Minimun=1\n\tN int32 `json:\"n\"`", "",
			`types.go:14:2: there is no marker \+kubebuilder:validation:Minimun=1: .*book.kubebuilder.io`},
		{"marker for another type", "// +kubebuilder:validation:MaxLength=1\n\tN int32 `json:\"n\"`", "",
			`types.go:15:2: Spec.n: must apply maxlength`},
		{"Kubernetes' own types", "N int32 `json:\"n\"`", "import corev1 \"k8s.io/api/core/v1\"\n\ntype Pod = corev1.Pod",
			`import of k8s.io/api/core/v1: .*import github.com/windlass-dev/windlass/sdk/api/core/v1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(fine, "FIELD", "\t"+c.field, 1)
			if i := strings.Index(c.more, "import"); i == 0 {
				line, rest, _ := strings.Cut(c.more, "\n")
				text = strings.Replace(text, "type Bad", line+"\n\ntype Bad", 1) + rest + "\n"
			} else {
				text += c.more + "\n"
			}
			writeFile(t, file, text)
			_, err := generate.Files(t.Context(), folder, "")
			var p generate.Problems
			if !errors.As(err, &p) || !regexp.MustCompile(c.want).MatchString(err.Error()) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), file+":") {
				t.Errorf("without the file: %v", err)
			}
		})
	}
}

func TestNothingToGenerate(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, file, text, want string }{
		{"no module", "a.txt", "", "no go.mod here or above"},
		{"no group", "go.mod", "module example.com/a\n", "has a comment // +groupName=GROUP above its package clause"},
		{"no kind", "v1/types.go", "// +groupName=example.com\npackage v1\n", "a kind is a struct that embeds"},
		{"broken", "v1/types.go", "// +groupName=example.com\npackage v1\n\ntype {\n", "types.go:4:6: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			writeFile(t, filepath.Join(dir, c.file), c.text)
			if _, err := generate.Files(t.Context(), dir, ""); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	t.Setenv("PATH", dir)
	if _, err := generate.Files(t.Context(), dir, ""); err == nil || !strings.Contains(err.Error(), "install Go") {
		t.Errorf("without the go command: %v", err)
	}
}
