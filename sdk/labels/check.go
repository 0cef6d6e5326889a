package labels

import (
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// Check refuses a selector that metav1.LabelSelectorAsSelector refuses, with the same message: an operator that isn't
// one, a wrong number of values, a key or a value that no label can have. Nil, which selects nothing, is none.
//
// Where several requirements are wrong the message is on the first. A controller that releases what its selector no
// longer takes in has to ask first.
func Check(s *metav1.LabelSelector) error {
	if s == nil {
		return nil
	}

	for i := range s.MatchLabels {
		l := &s.MatchLabels[i]
		if !validKey(l.Key) || !ValidValue(l.Value) {
			return refusal(l.Key, "", []string{l.Value})
		}
	}

	for i := range s.MatchExpressions {
		x, fault := &s.MatchExpressions[i], ""
		switch x.Operator {
		case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
			if len(x.Values) == 0 {
				fault = "for 'in', 'notin' operators, values set can't be empty"
			}
		case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
			if len(x.Values) != 0 {
				fault = "values set must be empty for exists and does not exist"
			}
		default:
			return sdk.Errors(quoteString(string(x.Operator)), " is not a valid label selector operator")
		}
		if err := refusal(x.Key, fault, x.Values); err != nil {
			return err
		}
	}
	return nil
}

// refusal returns all that is wrong with a requirement of this key and these values, of which fault is what is wrong
// with their number; nil where nothing is.
func refusal(key, fault string, values []string) error {
	all, n := "", 0
	add := func(path, value, fault string) {
		all, n = joinedBy(", ", all, path+": Invalid value: "+value+": "+fault), n+1
	}

	if !validKey(key) {
		add("key", quoteString(key), keyFault(key))
	}
	if fault != "" {
		add("values", jsonArray(values), fault)
	}
	for i, v := range values {
		if !ValidValue(v) {
			add("values["+strconv.Itoa(i)+"]["+key+"]", quoteString(v), valueFault(v))
		}
	}

	switch n {
	case 0:
		return nil
	case 1:
		return sdk.Errors(all)
	}
	return sdk.Errors("[", all, "]")
}

// joinedBy returns both texts with the separator between them, or the second one alone where the first is empty.
func joinedBy(separator, a, b string) string {
	if a == "" {
		return b
	}
	return a + separator + b
}

// quoteString returns s as Go's %q has it, but for the few characters beyond ASCII that can't be printed: to know them
// takes tables of several kilobytes.
func quoteString(s string) string { return string(appendQuoted(nil, s, false)) }

// jsonArray returns the values in JSON as Go writes it; none are null.
func jsonArray(values []string) string {
	if len(values) == 0 {
		return "null"
	}

	b := []byte("[")
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendQuoted(b, v, true)
	}
	return string(append(b, ']'))
}

// appendQuoted appends s in quotes, with what Go's JSON escapes, which can stand in HTML, or with what its %q does.
func appendQuoted(b []byte, s string, inJSON bool) []byte {
	const (
		hex     = "0123456789abcdef"
		special = "\"\\\b\f\n\r\t\a\v"
		letters = "\"\\bfnrtav"
		both    = len("\"\\bfnrt")
	)

	b = append(b, '"')
	for i := range len(s) {
		c := s[i]
		at := strings.IndexByte(special, c)
		switch {
		case at >= 0 && (at < both || !inJSON):
			b = append(b, '\\', letters[at])
		case inJSON && (c < ' ' || c == '<' || c == '>' || c == '&'):
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case !inJSON && (c < ' ' || c == 0x7f):
			b = append(b, '\\', 'x', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

const (
	domainMost = 253 // bytes
	nameMost   = 63
)

// What upstream's validation says of the forms of keys and values (apimachinery's pkg/api/validate/content).
const (
	form  = ", and must start and end with an alphanumeric character (e.g. "
	regex = "regex used for validation is '"

	nameRegex = regex + nameForm + "'"
	nameForm  = `([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]`
	nameWords = "consist of alphanumeric characters, '-', '_' or '.'" + form
	nameFault = "must " + nameWords + "'MyName',  or 'my.name',  or '123-abc', " + nameRegex + ")"

	textRegex = regex + "(" + nameForm + ")?'"
	textWords = "a valid label must be an empty string or " + nameWords
	textFault = textWords + "'MyValue',  or 'my_value',  or '12345', " + textRegex + ")"

	domainRegex = regex + labelForm + `(\.` + labelForm + ")*'"
	labelForm   = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
	domainWords = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'" + form
	domainFault = domainWords + "'example.com', " + domainRegex + ")"
)

// keyFault returns what is wrong with a label's key.
func keyFault(key string) string {
	domain, name, found := strings.Cut(key, "/")
	if !found {
		domain, name = "", key
	}
	if strings.Contains(name, "/") {
		return "a valid label key " + nameFault + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
	}

	faults := ""
	add := func(fault string) { faults = joinedBy("; ", faults, fault) }
	if found && domain == "" {
		add("prefix part must be non-empty")
	} else if found {
		if len(domain) > domainMost {
			add("prefix part " + tooLong(domainMost))
		}
		if !isDomain(domain) {
			add("prefix part " + domainFault)
		}
	}

	switch {
	case name == "":
		add("name part must be non-empty")
	case len(name) > nameMost:
		add("name part " + tooLong(nameMost))
	}
	if !isName(name) {
		add("name part " + nameFault)
	}
	return faults
}

// valueFault returns what is wrong with a label's value.
func valueFault(value string) string {
	faults := ""
	if len(value) > nameMost {
		faults = tooLong(nameMost)
	}
	if value != "" && !isName(value) {
		faults = joinedBy("; ", faults, textFault)
	}
	return faults
}

func tooLong(most int) string { return "must be no more than " + strconv.Itoa(most) + " bytes" }

// validKey reports whether s can be a label's key: a name, perhaps behind a domain and a slash.
func validKey(s string) bool {
	domain, name, found := strings.Cut(s, "/")
	if !found {
		return validName(s)
	}
	return len(domain) <= domainMost && isDomain(domain) && validName(name)
}

// ValidValue reports whether s can be a label's value: nothing, or up to 63 letters, digits and, between them, dashes,
// underscores and dots.
func ValidValue(s string) bool { return s == "" || validName(s) }

func validName(s string) bool { return len(s) <= nameMost && isName(s) }

// isName reports whether s consists of letters, digits, dashes, underscores and dots, and begins and ends with a letter
// or a digit.
func isName(s string) bool {
	if s == "" || !alphanumeric(s[0]) || !alphanumeric(s[len(s)-1]) {
		return false
	}

	for i := range len(s) {
		if c := s[i]; !alphanumeric(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// isDomain reports whether s is a DNS name in lower case.
func isDomain(s string) bool {
	before := byte('.')
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '.' || c == '-':
			if before == '.' || c == '.' && before == '-' {
				return false
			}
		case !alphanumeric(c) || c >= 'A' && c <= 'Z':
			return false
		}
		before = c
	}
	return before != '.' && before != '-'
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z'
}
