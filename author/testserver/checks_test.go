package testserver

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// checkConstants returns the constants of type Check in a file, by name.
func checkConstants(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			if of, ok := v.Type.(*ast.Ident); ok && of.Name == "Check" {
				all[v.Names[0].Name] = v.Values[0].(*ast.BasicLit).Value
			}
		}
		return true
	})
	return all
}

// The checks have their names on both sides of the pipe: the SDK imports nothing of the host, nor the host of the SDK.
func TestSameChecks(t *testing.T) {
	host, sdk := checkConstants(t, "../simulator/finding.go"),
		checkConstants(t, "../../sdk/plugintest/checks.go")
	if d := cmp.Diff(host, sdk); d != "" || len(host) < 10 {
		t.Errorf("%d checks (-author/simulator +sdk/plugintest):\n%s", len(host), d)
	}
}
