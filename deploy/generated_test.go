package deploy

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const manifestsHeader = `# The chart with its defaults, for kubectl apply -f. Generated: cd deploy && go test -run TestManifestsAreCurrent -update
# Put your image in the place of %s first: sed, or the field "images" of a kustomization.
`

// defaults is the release that the plain manifests are.
var defaults = release{name: "windlass", namespace: "kube-system",
	values: "image: {repository: registry.example/windlass}\n"}

func TestManifestsAreCurrent(t *testing.T) {
	out := defaults.mustRender(t)
	text := fmt.Sprintf(manifestsHeader, "registry.example/windlass:0.1.0")
	for _, doc := range out.text {
		// Nothing here is helm's.
		lines := slices.DeleteFunc(strings.Split(doc, "\n"), func(l string) bool {
			return strings.Contains(l, "helm.sh/chart:") || strings.Contains(l, "app.kubernetes.io/managed-by:") ||
				strings.HasPrefix(l, "# Source: ")
		})
		text += "---\n" + strings.Join(lines, "\n")
	}
	generated(t, "manifests/windlass.yaml", text)
}

const (
	tableBegin = "<!-- generated from values.yaml: cd deploy && go test -run TestReadmeIsCurrent -update -->\n"
	tableEnd   = "<!-- end -->"
)

// The README's table has every value, its default and its comment.
func TestReadmeIsCurrent(t *testing.T) {
	values, err := os.ReadFile(chartFolder + "/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(values, &doc); err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("\n| value | default | what it is |\n|---|---|---|\n")
	writeRows(t, &table, "", doc.Content[0])
	path := chartFolder + "/README.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), tableBegin)
	_, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no table", path)
	}
	generated(t, path, before+tableBegin+table.String()+"\n"+tableEnd+after)
}

// writeRows writes a row for each value that has a comment. A map without one is a group of values.
func writeRows(t *testing.T, w *strings.Builder, prefix string, m *yaml.Node) {
	t.Helper()
	for i := 0; i < len(m.Content); i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		comment := key.HeadComment
		if j := strings.LastIndex(comment, "\n\n"); j >= 0 { // the file's own comes before the first value's
			comment = comment[j+2:]
		}
		name := prefix + key.Value
		if comment == "" || value.Kind == yaml.MappingNode && len(value.Content) > 0 && value.Content[0].HeadComment != "" {
			if value.Kind != yaml.MappingNode {
				t.Errorf("values.yaml: %s has no comment", name)
				continue
			}
			writeRows(t, w, name+".", value)
			continue
		}
		comment = strings.Join(strings.Fields(strings.ReplaceAll(comment, "# ", "")), " ")
		fmt.Fprintf(w, "| `%s` | `%s` | %s |\n", name, inlineYAML(t, value), strings.ReplaceAll(comment, "|", `\|`))
	}
}

// inlineYAML returns a value in one line.
func inlineYAML(t *testing.T, n *yaml.Node) string {
	t.Helper()
	stripComments(n)
	b, err := yaml.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(b)), " ")
}

func stripComments(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	if n.Kind != yaml.ScalarNode {
		n.Style = yaml.FlowStyle
	}
	for _, c := range n.Content {
		stripComments(c)
	}
}
