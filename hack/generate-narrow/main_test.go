package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder makes a package of the root module with a file of this text.
func folder(t *testing.T, text string) string {
	t.Helper()
	dir, err := os.MkdirTemp(".", "_narrow-") // which no ./... finds
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.WriteFile(filepath.Join(dir, "narrow.go"), []byte("package narrow\n\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestGenerate(t *testing.T) {
	got, err := generate(folder(t, `import corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"

//narrow:part v1 Pod spec
type spec struct {
	Volumes                       [][]byte
	NodeSelector                  map[string]string
	Overhead                      corev1.ResourceList
	TerminationGracePeriodSeconds *int64
	NodeName                      string
	Containers                    []container
}

type container struct{ Ports []corev1.ContainerPort }
`))
	if err == nil || !strings.Contains(err.Error(), "spec.NodeSelector: map[string]string can't be on the wire") {
		t.Errorf("a map of Go's: %s, %v", got, err)
	}

	got, err = generate(folder(t, `import corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"

//narrow:part v1 Pod spec
type spec struct {
	Volumes                       [][]byte
	Overhead                      corev1.ResourceList
	TerminationGracePeriodSeconds *int64
	NodeName                      string
	Containers, InitContainers    []container
}

type container struct{ Ports []corev1.ContainerPort }
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"{Num: 1, Kind: wire.Rep | wire.Bytes, Offset: unsafe.Offsetof(spec{}.Volumes)},",
		"{Num: 2, Kind: wire.Rep | wire.Message, Offset: unsafe.Offsetof(spec{}.Containers), Elem: &containerTable},",
		"{Num: 4, Kind: wire.Ptr | wire.Int64, Offset: unsafe.Offsetof(spec{}.TerminationGracePeriodSeconds)},",
		"{Num: 10, Kind: wire.String, Offset: unsafe.Offsetof(spec{}.NodeName)},",
		"{Num: 20, Kind: wire.Rep | wire.Message, Offset: unsafe.Offsetof(spec{}.InitContainers), Elem: &containerTable},",
		"{Num: 32, Kind: wire.Map | wire.Message, Offset: unsafe.Offsetof(spec{}.Overhead), Elem: &entryOfQuantityTable},",
		"Elem: &corev1.ContainerPortTable},",
	} {
		if !strings.Contains(string(got), line) {
			t.Errorf("no %s in\n%s", line, got)
		}
	}
}

func TestWrongDirectives(t *testing.T) {
	for text, says := range map[string]string{
		"type none struct{}":                                           "no struct is marked with //narrow",
		"//narrow:resource pods Pod\ntype a struct{}":                  `type a: //narrow:resource pods Pod: "pods" is no resource`,
		"//narrow:resource v1/pods Pot\ntype a struct{}":               `no kind "Pot"`,
		"//narrow:whole v1 Pod\ntype a struct{}":                       `it must be "resource VERSION/PLURAL KIND [namespaced]"`,
		"//narrow:part v1 Pod spec.containers.nam\ntype a struct{}":    `v1.Container has no field "nam"`,
		"//narrow:part v1 Pod spec\ntype a struct{ NodeNam string }":   "a.NodeNam: v1.PodSpec has no such field",
		"//narrow:part v1 Pod spec\ntype a struct{ NodeName float32 }": "a.NodeName: float32 can't be on the wire",
		"//narrow:part v1 Pod\ntype a struct {\n\tSpec b\n\tStatus b\n}\n\ntype b struct{ InitContainerStatuses [][]byte }": "b.InitContainerStatuses: v1.PodSpec has no such field",
	} {
		if _, err := generate(folder(t, text+"\n")); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, should say %q", err, says)
		}
	}
}
