package deploy

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/config"
)

// The chart's schema knows the configuration's fields and their types, so that helm refuses what windlass would: a
// misspelt field never reaches a pod. What a field may hold is windlass's to check.
func TestSchemaIsCurrent(t *testing.T) {
	b, err := json.Marshal(schemaOf(reflect.TypeFor[config.Configuration]()))
	if err != nil {
		t.Fatal(err)
	}
	path := chartFolder + "/values.schema.json"
	line := regexp.MustCompile(`(?m)^    "config": .*,$`)
	text := readFile(t, path)
	if n := len(line.FindAllString(text, -1)); n != 1 {
		t.Fatalf("%s has %d lines for config", path, n)
	}
	generated(t, path, line.ReplaceAllLiteralString(text, `    "config": `+string(b)+","))
}

// schemaOf returns the JSON schema of a type of the configuration. Its keys are sorted when it is marshalled.
func schemaOf(typ reflect.Type) map[string]any {
	switch typ {
	case reflect.TypeFor[metav1.Duration]():
		return map[string]any{"type": "string"}
	case reflect.TypeFor[resource.Quantity]():
		return map[string]any{"type": []string{"string", "number"}}
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return schemaOf(typ.Elem())
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(typ.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(typ.Elem())}
	case reflect.Struct:
		fields := map[string]any{}
		addFields(typ, fields)
		return map[string]any{"type": "object", "additionalProperties": false, "properties": fields}
	}
	return map[string]any{"type": "string"}
}

func addFields(typ reflect.Type, fields map[string]any) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "":
			addFields(f.Type, fields)
		default:
			fields[name] = schemaOf(f.Type)
		}
	}
}

// The pods' annotation read-at-start covers what package config says is read at the start alone, so that a change of it
// takes new pods.
func TestReadAtStart(t *testing.T) {
	_, helper, _ := strings.Cut(readFile(t, chartFolder+"/templates/_helpers.tpl"), `define "windlass.start"`)
	helper, _, _ = strings.Cut(helper, "sha256sum")
	sources, err := filepath.Glob("../config/*.go")
	if err != nil {
		t.Fatal(err)
	}

	found, atStart := 0, regexp.MustCompile(
		`read\s+at\s+the\s+start\s+(only|alone)|takes\s+effect\s+at\s+the\s+next\s+start`)
	expect := func(comment, name string) {
		if !atStart.MatchString(comment) {
			return
		}
		found++
		if !strings.Contains(helper, "."+name) {
			t.Errorf("%s is read at the start alone, and the chart's helper windlass.start doesn't have it", name)
		}
	}
	look := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			if s, ok := n.Specs[0].(*ast.TypeSpec); ok {
				expect(n.Doc.Text(), strings.ToLower(s.Name.Name[:1])+s.Name.Name[1:])
			}
		case *ast.Field:
			if n.Tag != nil {
				expect(n.Doc.Text(), reflect.StructTag(strings.Trim(n.Tag.Value, "`")).Get("json"))
			}
		}
		return true
	}
	for _, name := range sources {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, look)
	}
	if found < 6 {
		t.Errorf("only %d fields are said to be read at the start", found)
	}
}
