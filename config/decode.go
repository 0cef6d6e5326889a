package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The file is decoded from YAML's tree of nodes, not by way of JSON: encoding/json ignores case in field names and
// loses the line, and no YAML library of Go names the path of a value of the wrong type.

// document parses the one document of a file.
func document(data []byte) (*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader(data))
	var root, second yaml.Node
	switch err := d.Decode(&root); {
	case errors.Is(err, io.EOF), err == nil && len(root.Content) == 0:
		return nil, fmt.Errorf("the file is empty: it needs at least apiVersion: %s and kind: %s", APIVersion, Kind)
	case err != nil:
		return nil, fmt.Errorf("not YAML: %w", err)
	}
	switch err := d.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, fmt.Errorf("not YAML: %w", err)
	default:
		return nil, fmt.Errorf("line %d: a second document: a file holds exactly one; remove what follows the ---",
			second.Line)
	}
	return root.Content[0], nil
}

func valueOf(c *Configuration) reflect.Value { return reflect.ValueOf(c).Elem() }

var (
	durationType = reflect.TypeFor[metav1.Duration]()
	quantityType = reflect.TypeFor[resource.Quantity]()

	integer = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	// ParseQuantity takes "1e999999999", for minutes
	memory  = regexp.MustCompile(`^(0|[0-9]{1,9}(\.[0-9]{1,9})?(k|M|G|Ki|Mi|Gi))$`)
	decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
)

// decoder sets values from nodes and collects what is wrong with them.
type decoder struct{ errs []error }

func (d *decoder) addError(n *yaml.Node, e *field.Error) {
	d.errs = append(d.errs, fmt.Errorf("line %d: %w", n.Line, e))
}

// addWrongType reports a value of the wrong type with what to write instead.
func (d *decoder) addWrongType(p *field.Path, n *yaml.Node, want string) {
	var got any = n.Value
	switch n.Kind {
	case yaml.MappingNode:
		got = "a map"
	case yaml.SequenceNode:
		got = "a list"
	}
	d.addError(n, field.Invalid(p, got, want))
}

// decodeValue sets v from n. p is nil for the document itself.
func (d *decoder) decodeValue(p *field.Path, n *yaml.Node, v reflect.Value) {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		d.addError(n, field.Invalid(p, n.Value, "anchors and aliases aren't supported: write the value out"))
		return
	}
	if n.ShortTag() == "!!null" && p != nil {
		return // "plugins:" with nothing behind it keeps the default
	}
	switch {
	case v.Type() == durationType:
		d.decodeDuration(p, n, v)
	case v.Type() == quantityType:
		d.decodeQuantity(p, n, v)
	case v.Kind() == reflect.Struct:
		if n.Kind != yaml.MappingNode {
			d.addWrongType(p, n, "must be a map of fields")
			return
		}
		d.decodeFields(p, n, v)
	case v.Kind() == reflect.Slice:
		d.decodeList(p, n, v)
	case v.Kind() == reflect.Map:
		d.decodeSettings(p, n, v)
	default:
		d.decodeScalar(p, n, v)
	}
}

func (d *decoder) decodeScalar(p *field.Path, n *yaml.Node, v reflect.Value) {
	plain := n.Kind == yaml.ScalarNode &&
		n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0

	switch v.Kind() {
	case reflect.String:
		if s, ok := d.decodeString(p, n); ok {
			v.SetString(s)
		}
	case reflect.Bool:
		if !plain || n.Value != "true" && n.Value != "false" {
			d.addWrongType(p, n, "must be true or false, without quotes")
			return
		}
		v.SetBool(n.Value == "true")
	case reflect.Int32, reflect.Int64:
		i, err := strconv.ParseInt(n.Value, 10, v.Type().Bits())
		if !plain || !integer.MatchString(n.Value) || err != nil {
			d.addWrongType(p, n, fmt.Sprintf("must be a whole number of at most %d bits, in decimal and without quotes",
				v.Type().Bits()))
			return
		}
		v.SetInt(i)
	case reflect.Float32:
		f, err := strconv.ParseFloat(n.Value, 32)
		if !plain || !decimal.MatchString(n.Value) || err != nil {
			d.addWrongType(p, n, "must be a number such as 20 or 0.5, without quotes")
			return
		}
		v.SetFloat(f)
	default:
		panic("config: no decoding for " + v.Type().String()) // a field of Configuration of a new kind: any test finds it
	}
}

func (d *decoder) decodeString(p *field.Path, n *yaml.Node) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		want := "must be a string"
		if n.Kind == yaml.ScalarNode {
			want += fmt.Sprintf(": put it in quotes, %q", n.Value)
		}
		d.addWrongType(p, n, want)
		return "", false
	}
	return n.Value, true
}

func (d *decoder) decodeDuration(p *field.Path, n *yaml.Node, v reflect.Value) {
	parsed, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" || err != nil {
		d.addWrongType(p, n, `must be a duration with its unit, such as "10s" or "1m30s"`)
		return
	}
	v.Set(reflect.ValueOf(metav1.Duration{Duration: parsed}))
}

func (d *decoder) decodeQuantity(p *field.Path, n *yaml.Node, v reflect.Value) {
	if n.Kind != yaml.ScalarNode || !memory.MatchString(n.Value) {
		d.addWrongType(p, n, `must be a quantity with its unit, such as "64Mi" or "1Gi"`)
		return
	}
	v.Set(reflect.ValueOf(resource.MustParse(n.Value)))
}

// decodeEntries calls f for each entry of a map, refusing keys that aren't strings or are there twice.
func (d *decoder) decodeEntries(p *field.Path, n *yaml.Node, at func(string) *field.Path,
	f func(key string, k, value *yaml.Node)) {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, value := n.Content[i], n.Content[i+1]
		switch line, twice := seen[k.Value]; {
		case k.Kind != yaml.ScalarNode || k.ShortTag() != "!!str":
			d.addError(k, field.Invalid(p, k.Value,
				"a field's name must be a string (YAML's << and other tags aren't supported)"))
		case twice:
			d.addError(k, &field.Error{Type: field.ErrorTypeDuplicate, Field: at(k.Value).String(), BadValue: k.Value,
				Detail: fmt.Sprintf("the field is on line %d already: keep one", line)})
		default:
			seen[k.Value] = k.Line
			f(k.Value, k, value)
		}
	}
}

// decodeFields sets the fields of a struct.
func (d *decoder) decodeFields(p *field.Path, n *yaml.Node, v reflect.Value) {
	known, names := fieldsOf(v)
	at := func(name string) *field.Path {
		if p == nil {
			return field.NewPath(name)
		}
		return p.Child(name)
	}
	d.decodeEntries(p, n, at, func(name string, k, value *yaml.Node) {
		f, ok := known[name]
		if !ok {
			d.addError(k, &field.Error{Type: field.ErrorTypeNotSupported, Field: at(name).String(), BadValue: name,
				Detail: "unknown field" + suggest(name, names)})
			return
		}
		d.decodeValue(at(name), value, f)
	})
}

// fieldsOf returns the settable fields of a struct by their names in a file, inlined ones among them.
func fieldsOf(v reflect.Value) (map[string]reflect.Value, []string) {
	known, names := map[string]reflect.Value{}, []string(nil)
	for name, f := range eachField(v) {
		known[name] = f
		names = append(names, name)
	}
	return known, names
}

// fieldNamed returns one of them.
func fieldNamed(v reflect.Value, name string) (reflect.Value, bool) {
	for has, f := range eachField(v) {
		if has == name {
			return f, true
		}
	}
	return reflect.Value{}, false
}

// eachField goes through them in their order.
func eachField(v reflect.Value) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Anonymous {
				for name, inner := range eachField(v.Field(i)) {
					if !yield(name, inner) {
						return
					}
				}
				continue
			}
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !yield(name, v.Field(i)) {
				return
			}
		}
	}
}

// decodeList replaces a list.
func (d *decoder) decodeList(p *field.Path, n *yaml.Node, v reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		d.addWrongType(p, n, "must be a list")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, e := range n.Content {
		if e.ShortTag() == "!!null" {
			d.addError(e, field.Required(p.Index(i), "remove the empty element, or fill it in"))
			continue
		}
		d.decodeValue(p.Index(i), e, out.Index(i))
	}
	v.Set(out)
}

// decodeSettings replaces a map of strings.
func (d *decoder) decodeSettings(p *field.Path, n *yaml.Node, v reflect.Value) {
	if n.Kind != yaml.MappingNode {
		d.addWrongType(p, n, "must be a map of strings")
		return
	}
	out := map[string]string{}
	d.decodeEntries(p, n, p.Key, func(name string, _, value *yaml.Node) {
		if value.Kind == yaml.AliasNode || value.Anchor != "" {
			d.addError(value, field.Invalid(p.Key(name), value.Value,
				"anchors and aliases aren't supported: write the value out"))
			return
		}
		if s, ok := d.decodeString(p.Key(name), value); ok {
			out[name] = s
		}
	})
	v.Set(reflect.ValueOf(out))
}
