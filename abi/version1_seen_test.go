package abi

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"testing"
)

// seen is what values have in them.
type seen struct {
	types   map[reflect.Type]bool           // all structs that can be in them, even where none is
	fields  map[reflect.Type]map[int]bool   // those that one of them sets
	numbers map[reflect.Type]map[int64]bool // of types of the ABI's own
	strings map[string]bool
}

func newSeen() *seen {
	return &seen{
		types:   map[reflect.Type]bool{},
		fields:  map[reflect.Type]map[int]bool{},
		numbers: map[reflect.Type]map[int64]bool{},
		strings: map[string]bool{},
	}
}

// noteValue takes note of a value and of all that is in it.
func (s *seen) noteValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		s.noteType(v.Type())
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				s.fields[v.Type()][i] = true
			}
			s.noteValue(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			s.noteValue(v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			s.noteValue(v.Elem())
		}
	case reflect.Int32:
		if s.numbers[v.Type()] == nil {
			s.numbers[v.Type()] = map[int64]bool{}
		}
		s.numbers[v.Type()][v.Int()] = true
	case reflect.String:
		s.strings[v.String()] = true
	}
}

// noteType takes note of a type and of those of its fields.
func (s *seen) noteType(t reflect.Type) {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || s.types[t] {
		return
	}

	s.types[t], s.fields[t] = true, map[int]bool{}
	for i := range t.NumField() {
		s.noteType(t.Field(i).Type)
	}
}

// unsetFields returns the fields that no value has set, as Type.Field.
func (s *seen) unsetFields() (names []string) {
	for t := range s.types {
		for i := range t.NumField() {
			if !s.fields[t][i] {
				names = append(names, t.Name()+"."+t.Field(i).Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

func (s *seen) hasType(name string) bool {
	for t := range s.types {
		if t.Name() == name {
			return true
		}
	}
	return false
}

// hasConstant reports whether a value has the constant: among the numbers of its type, as a bit of one where the type
// is a set, or among all strings.
func (s *seen) hasConstant(t *testing.T, d declaration) bool {
	t.Helper()
	if d.of == "" {
		text, err := strconv.Unquote(d.value)
		if err != nil {
			t.Fatal(err)
		}
		return s.strings[text]
	}

	number, err := strconv.ParseInt(d.value, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	for of, numbers := range s.numbers {
		for n := range numbers {
			if of.Name() == d.of && (n == number || d.of == "Tolerance" && n&number != 0) {
				return true
			}
		}
	}
	return false
}

// declaration is a struct, or a constant with its type and value.
type declaration struct{ name, of, value string }

// notInMessages are constants that plugins and host agree on, and no message has.
var notInMessages = []string{"Unexpected"}

// declarations returns the exported structs of a file, and its constants of the ABI's own types and of strings.
func declarations(t *testing.T, file string) (all []declaration) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}

	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			return false
		case *ast.TypeSpec:
			if _, ok := n.Type.(*ast.StructType); ok && n.Name.IsExported() {
				all = append(all, declaration{name: n.Name.Name, of: "struct"})
			}
		case *ast.ValueSpec:
			if len(n.Values) != 1 || slices.Contains(notInMessages, n.Names[0].Name) {
				return true
			}
			literal, ok := n.Values[0].(*ast.BasicLit)
			if !ok {
				return true
			}
			d := declaration{name: n.Names[0].Name, value: literal.Value}
			if of, ok := n.Type.(*ast.Ident); ok {
				d.of = of.Name
			}
			all = append(all, d)
		}
		return true
	})

	return all
}
