// Package table writes Go source with tables of abi/wire.
package table

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// WirePath is the package of the tables' types.
const WirePath = "github.com/windlass-dev/windlass/abi/wire"

// Table is that of one Go type.
type Table struct {
	Name string // of the variable
	Of   string // the Go type, as it is written in the file
	// Form is the constant of wire.Form, empty for Plain.
	Form string
	// Spare tells that the struct has a field XUnknown.
	Spare  bool
	Fields []Field
}

// Field is one field of a table.
type Field struct {
	Num  int
	Kind string // wire.Rep | wire.Message
	Keep bool
	// Name is the Go field's, empty for the first of a struct and for what isn't one.
	Name string
	Elem string // the variable with the element's table
	JSON string
}

// Entry is the table of an entry of a map.
func Entry(name, key, value string, v Field) Table {
	v.Num, v.Keep, v.Name = 2, true, "Value"
	return Table{Name: name, Of: "wire.Entry[" + key + ", " + value + "]",
		Fields: []Field{{Num: 1, Kind: "wire.String", Keep: true}, v}}
}

// Source is the declaration of the table. The file has to import wire and unsafe.
func (t *Table) Source() string {
	var b strings.Builder
	fmt.Fprintf(&b, "var %s = wire.Type{Size: unsafe.Sizeof(%s{}), ", t.Name, t.Of)
	if t.Form != "" {
		fmt.Fprintf(&b, "Form: %s, ", t.Form)
	}
	if t.Spare {
		fmt.Fprintf(&b, "Spare: unsafe.Offsetof(%s{}.XUnknown) + 1, ", t.Of)
	}
	fmt.Fprintf(&b, "New: wire.Grow[%s], Fields: []wire.Field{", t.Of)
	if t.Form == "" {
		b.WriteByte('\n')
	}
	for i := range t.Fields {
		b.WriteString(t.Fields[i].goLiteral(t))
		if t.Form == "" {
			b.WriteString(",\n")
		}
	}
	b.WriteString("}}\n\n")
	return b.String()
}

func (f *Field) goLiteral(t *Table) string {
	var parts []string
	if f.Num != 0 {
		parts = append(parts, fmt.Sprintf("Num: %d", f.Num))
	}
	parts = append(parts, "Kind: "+f.Kind)
	if f.Keep {
		parts = append(parts, "Keep: true")
	}
	if f.Name != "" {
		parts = append(parts, fmt.Sprintf("Offset: unsafe.Offsetof(%s{}.%s)", t.Of, f.Name))
	}
	if f.Elem != "" && f.Elem != t.Name { // Go forbids a variable that refers to itself; no Elem means the type itself
		parts = append(parts, "Elem: &"+f.Elem)
	}
	if f.JSON != "" {
		parts = append(parts, fmt.Sprintf("JSON: %q", f.JSON))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// Imports are a file's, alias by path.
type Imports map[string]string

// Add imports a package under a name.
func (i Imports) Add(importPath, alias string) { i[importPath] = alias }

// Source is the import declaration: the standard library, then the others, each in the order of their paths.
func (i Imports) Source() string {
	if len(i) == 0 {
		return ""
	}
	var std, others []string
	for p := range i {
		if strings.Contains(p, ".") {
			others = append(others, p)
		} else {
			std = append(std, p)
		}
	}

	var b strings.Builder
	b.WriteString("import (\n")
	for k, group := range [][]string{std, others} {
		if k > 0 {
			b.WriteByte('\n')
		}
		slices.Sort(group)
		for _, p := range group {
			if a := i[p]; a != path.Base(p) {
				b.WriteString(a + " ")
			}
			fmt.Fprintf(&b, "%q\n", p)
		}
	}

	b.WriteString(")\n\n")
	return b.String()
}

// Plural returns a resource's name the capitals of its kind: NetworkPolicies.
func Plural(kind, name string) string {
	n := 0
	for n < len(kind) && n < len(name) && strings.ToLower(kind)[n] == name[n] {
		n++
	}
	if n == 0 && name != "" {
		return strings.ToUpper(name[:1]) + name[1:]
	}
	return kind[:n] + name[n:]
}
