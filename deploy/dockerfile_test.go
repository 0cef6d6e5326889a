package deploy

import (
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// readStages reads the Dockerfile as docker does.
func readStages(t *testing.T) []instructions.Stage {
	t.Helper()
	f, err := os.Open("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := parser.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range r.Warnings {
		t.Errorf("Dockerfile: %+v", w)
	}
	all, _, err := instructions.Parse(r.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// instructionsOf returns the instructions of a stage that are of a type.
func instructionsOf[T instructions.Command](s instructions.Stage) (all []T) {
	for _, c := range s.Commands {
		if x, ok := c.(T); ok {
			all = append(all, x)
		}
	}
	return all
}

// entrypoint is the image's.
func entrypoint(t *testing.T) []string {
	t.Helper()
	all := readStages(t)
	return instructionsOf[*instructions.EntrypointCommand](all[len(all)-1])[0].CmdLine
}

// imageFiles returns what the image has beside its base: what the Dockerfile's first stage lays out for the last one to
// copy.
func imageFiles(t *testing.T, root string) (mounts []mount) {
	t.Helper()
	all := readStages(t)
	copies := instructionsOf[*instructions.CopyCommand](all[len(all)-1])
	if len(copies) != 1 || copies[0].From != "build" || strings.Join(copies[0].SourcePaths, " ") != "/image/" ||
		copies[0].DestPath != "/" {
		t.Fatalf("this test doesn't know what the image has: %v", copies)
	}
	const layout = "mkdir -p /image/usr/local/bin && cp _output/windlass /image/windlass && ln -s /windlass /image/usr/local/bin/kube-controller-manager"
	if !slices.Contains(commands(all[0]), layout) {
		t.Fatalf("this test doesn't know what is in the image: %q", commands(all[0]))
	}
	if err := os.MkdirAll(filepath.Join(root, "usr/local/bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/windlass", filepath.Join(root, "usr/local/bin/kube-controller-manager")); err != nil {
		t.Fatal(err)
	}
	return []mount{{From: program(), To: "/windlass"}}
}

// commands are those that a stage runs.
func commands(s instructions.Stage) (all []string) {
	for _, r := range instructionsOf[*instructions.RunCommand](s) {
		all = append(all, strings.Join(r.CmdLine, " "))
	}
	return all
}

func TestDockerfile(t *testing.T) {
	all := readStages(t)
	if len(all) != 2 {
		t.Fatalf("%d stages", len(all))
	}

	build, final := all[0], all[1]
	if runs := commands(build); !slices.Contains(runs, "make build") {
		t.Errorf("the image isn't built as everywhere, by make build: %q", runs)
	}
	if n := len(instructionsOf[*instructions.RunCommand](final)); n > 0 {
		t.Errorf("the base has no shell that could run %d commands", n)
	}
	if u := instructionsOf[*instructions.UserCommand](final); len(u) != 1 || u[0].User != "65532:65532" {
		t.Errorf("user: %v", u)
	}
	if e := instructionsOf[*instructions.EntrypointCommand](final); len(e) != 1 || e[0].PrependShell {
		t.Errorf("entrypoint: %v", e)
	}

	labels := map[string]string{}
	for _, l := range instructionsOf[*instructions.LabelCommand](final) {
		for _, kv := range l.Labels {
			labels[strings.Trim(kv.Key, `"`)] = strings.Trim(kv.Value, `"`)
		}
	}

	for _, l := range []string{"title", "description", "source", "licenses", "version", "revision"} {
		if labels["org.opencontainers.image."+l] == "" {
			t.Errorf("label org.opencontainers.image.%s is missing: %v", l, labels)
		}
	}

	f, err := elf.Open(program())
	if err != nil {
		t.Fatal(err)
	}

	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the binary isn't static (%v): the base has no libc", p.Type)
		}
	}
}
