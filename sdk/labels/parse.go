package labels

import (
	"strings"

	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// Parse reads a selector as it is written in queries and in the status of a scale: app=web,tier in (a,b),!old. An empty
// text selects everything. The comparisons > and < are not understood.
func Parse(s string) (*metav1.LabelSelector, error) {
	l := &metav1.LabelSelector{}
	if trimBlanks(s) == "" {
		return l, nil
	}
	for more := true; more; {
		var one string
		one, s, more = cutComma(s)
		x, ok := parseOne(trimBlanks(one))
		if !ok {
			return nil, sdk.Errors("unable to parse requirement: '", trimBlanks(one), "'")
		}
		l.MatchExpressions = append(l.MatchExpressions, x)
	}
	return l, nil
}

// cutComma cuts at the first comma that isn't between parentheses.
func cutComma(s string) (before, after string, found bool) {
	inside := false
	for i := range len(s) {
		switch s[i] {
		case '(':
			inside = true
		case ')':
			inside = false
		case ',':
			if !inside {
				return s[:i], s[i+1:], true
			}
		}
	}
	return s, "", false
}

func parseOne(s string) (x metav1.LabelSelectorRequirement, ok bool) {
	if s != "" && s[0] == '!' {
		x.Key, x.Operator = trimBlanks(s[1:]), metav1.LabelSelectorOpDoesNotExist
		return x, validKey(x.Key)
	}

	end := 0
	for end < len(s) && !delimits(s[end]) {
		end++
	}

	x.Key, s = s[:end], trimBlanks(s[end:])
	if !validKey(x.Key) {
		return x, false
	}

	x.Operator = metav1.LabelSelectorOpIn
	value := ""
	switch {
	case s == "":
		x.Operator = metav1.LabelSelectorOpExists
		return x, true
	case strings.HasPrefix(s, "!="):
		x.Operator, value = metav1.LabelSelectorOpNotIn, s[2:]
	case strings.HasPrefix(s, "=="):
		value = s[2:]
	case s[0] == '=':
		value = s[1:]
	default:
		if strings.HasPrefix(s, "not") {
			x.Operator, s = metav1.LabelSelectorOpNotIn, s[3:]
		}
		if !strings.HasPrefix(s, "in") {
			return x, false
		}
		s = trimBlanks(s[2:])
		if len(s) < 2 || s[0] != '(' || s[len(s)-1] != ')' {
			return x, false
		}
		for value, more := s[1:len(s)-1], true; more; {
			var one string
			one, value, more = strings.Cut(value, ",")
			if one = trimBlanks(one); !ValidValue(one) {
				return x, false
			}
			x.Values = append(x.Values, one)
		}
		return x, true
	}

	value = trimBlanks(value)
	x.Values = []string{value}
	return x, ValidValue(value)
}

// Format writes a selector the way [Parse] reads it, in the order of the keys. Nil, which selects nothing, has no form;
// it is written as an empty text, as upstream does.
func Format(s *metav1.LabelSelector) string {
	if s == nil {
		return ""
	}

	type term struct{ key, text string }
	var terms []term
	add := func(key, text string) { // selectors are short, and sorting brings much code
		terms = append(terms, term{})
		i := len(terms) - 1
		for ; i > 0 && terms[i-1].key > key; i-- {
			terms[i] = terms[i-1]
		}
		terms[i] = term{key, text}
	}
	for i := range s.MatchLabels {
		l := &s.MatchLabels[i]
		add(l.Key, l.Key+"="+l.Value)
	}

	for i := range s.MatchExpressions {
		x := &s.MatchExpressions[i]
		switch x.Operator {
		case metav1.LabelSelectorOpIn:
			add(x.Key, x.Key+" in ("+joinSorted(x.Values)+")")
		case metav1.LabelSelectorOpNotIn:
			add(x.Key, x.Key+" notin ("+joinSorted(x.Values)+")")
		case metav1.LabelSelectorOpExists:
			add(x.Key, x.Key)
		case metav1.LabelSelectorOpDoesNotExist:
			add(x.Key, "!"+x.Key)
		}
	}

	text := ""
	for i := range terms {
		if i > 0 {
			text += ","
		}
		text += terms[i].text
	}
	return text
}

// joinSorted returns the values in their order.
func joinSorted(values []string) string {
	sorted := make([]string, 0, len(values))
	for _, v := range values {
		sorted = append(sorted, v)
		for i := len(sorted) - 1; i > 0 && sorted[i-1] > v; i-- {
			sorted[i], sorted[i-1] = sorted[i-1], v
		}
	}
	return strings.Join(sorted, ",")
}

func trimBlanks(s string) string {
	for s != "" && isBlank(s[0]) {
		s = s[1:]
	}
	for s != "" && isBlank(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func delimits(c byte) bool {
	switch c {
	case '=', '!', '(', ')', ',', '>', '<':
		return true
	}
	return isBlank(c)
}
