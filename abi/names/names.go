// Package names says which texts may name something: those that Kubernetes allows where the name becomes a part of a
// request's path, and plain ones where it becomes a part of a file's name, a metric or a line of a log. It is the one
// place for these rules, at a plugin's build, when it is loaded, and at each of its effects.
package names

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of names, in bytes.
const (
	labelMax     = 63
	subdomainMax = 253
	textMax      = 1024
	quotedMax    = 80 // of what an error quotes
)

// All stands for all resources, where a name may.
const All = "*"

// Group reports why a text is not the name of an API group; the core group has none.
func Group(s string) error {
	if s == "" {
		return nil
	}
	return subdomain("an API group", s)
}

// Version reports why a text is not the version of an API group, such as v1beta1.
func Version(s string) error { return label("an API version", s) }

// Plural reports why a text is neither a resource's name in paths, such as pods, nor [All].
func Plural(s string) error {
	if s == All {
		return nil
	}
	return label("a resource", s)
}

// Subresource reports why a text is not the name of a subresource; there may be none.
func Subresource(s string) error {
	if s == "" {
		return nil
	}
	return label("a subresource", s)
}

// Namespace reports why a text is not the name of a namespace; there may be none.
func Namespace(s string) error {
	if s == "" {
		return nil
	}
	return label("a namespace", s)
}

// Controller reports why a text is not the name of a controller, or its alias.
func Controller(s string) error { return subdomain("a controller", s) }

// Plugin reports why a text is not the name of a plugin.
func Plugin(s string) error { return subdomain("a plugin", s) }

// ServiceAccount reports why a text is not the name of a service account.
func ServiceAccount(s string) error { return subdomain("a service account", s) }

// Setting reports why a text is not the name of a setting: those of feature gates have capitals.
func Setting(s string) error {
	const rule = `letters, digits, "-", "_" and ".", at most 253 of them, with a letter or a digit at both ends`
	ends := s != "" && alphanumeric(s[0]) && alphanumeric(s[len(s)-1])
	return wants("a setting", s, rule, ends && len(s) <= subdomainMax && each(s, func(c byte) bool {
		return alphanumeric(c) || c == '-' || c == '_' || c == '.'
	}))
}

// Metric reports why a text is not the name of a metric.
func Metric(s string) error {
	const rule = `letters, digits, "_" and ":", at most 253 of them, and no digit first`
	return wants("a metric", s, rule, identifier(s, func(c byte) bool { return c == ':' }))
}

// MetricLabel reports why a text is not the name of a metric's label.
func MetricLabel(s string) error {
	const rule = `letters, digits and "_", at most 253 of them, no digit and no "__" first, and neither "le" nor "quantile"`
	return wants("a label", s, rule, !strings.HasPrefix(s, "__") && s != "le" && s != "quantile" &&
		identifier(s, func(byte) bool { return false }))
}

// Text reports why a text can't be what people are to read as the name of something: it is long, no UTF-8, or has
// control characters. There may be none.
func Text(what, s string) error {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Errorf("%s can't be the %s: it has control characters", Quote(s), what)
	}
	return Value(what, s)
}

// Value reports why a text can't be a key, or a metric's label: it is long, or no UTF-8. There may be none.
func Value(what, s string) error {
	if len(s) > textMax {
		return fmt.Errorf("a %s of %d bytes, the limit is %d", what, len(s), textMax)
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("%s can't be the %s: it must be UTF-8", Quote(s), what)
	}
	return nil
}

// Quote returns a text for an error: on one line, in quotation marks, cut where it is long.
func Quote(s string) string {
	if len(s) > quotedMax {
		return fmt.Sprintf("%q…", s[:quotedMax])
	}
	return fmt.Sprintf("%q", s)
}

// subdomain reports why a text is not a DNS subdomain (RFC 1123).
func subdomain(what, s string) error {
	ok := s != "" && len(s) <= subdomainMax
	for part := range strings.SplitSeq(s, ".") {
		ok = ok && isLabel(part)
	}
	return wants(what, s, `lower-case letters, digits, "-" and ".", at most 253 of them, with a letter or a digit at both ends of each part`, ok)
}

// label reports why a text is not a DNS label (RFC 1123).
func label(what, s string) error {
	return wants(what, s, `lower-case letters, digits and "-", at most 63 of them, with a letter or a digit at both ends`,
		len(s) <= labelMax && isLabel(s))
}

func wants(what, s, rule string, ok bool) error {
	if ok {
		return nil
	}
	return fmt.Errorf("%s can't name %s: it must be %s", Quote(s), what, rule)
}

func isLabel(s string) bool {
	return s != "" && s[0] != '-' && s[len(s)-1] != '-' && each(s, func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-'
	})
}

// identifier reports whether a text is one in most languages, but for some characters more.
func identifier(s string, more func(byte) bool) bool {
	return s != "" && len(s) <= subdomainMax && (s[0] < '0' || s[0] > '9') && each(s, func(c byte) bool {
		return alphanumeric(c) || c == '_' || more(c)
	})
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func each(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return true
}
