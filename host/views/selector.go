package views

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/host/schema"
)

// selectable reports whether a path leads to what can select labels.
func selectable(p *schema.Path) error {
	if p.Map() || p.JSON() || p.Message() != nil && strings.HasSuffix(p.Message().Name, "/v1.LabelSelector") {
		return nil
	}
	return errors.New("neither a label selector nor a map of labels")
}

// selectors are those at a path in an object.
type selectors struct {
	found [][]byte // LabelSelectors on the wire, or the entries of a map
	plain bool     // a map
}

// selectorsAt finds the selectors in an object, once for all the labels that are compared with them.
func selectorsAt(p *schema.Path, raw []byte) selectors {
	found, err := rawSelectors(p, raw)
	if err != nil {
		return selectors{}
	}
	return selectors{found, p.Map()}
}

// rawSelectors returns the selectors at a path on the wire. One in JSON that can't be read selects nothing.
func rawSelectors(p *schema.Path, raw []byte) ([][]byte, error) {
	found, err := p.Raw(nil, raw)
	if err != nil || !p.JSON() {
		return found, err
	}
	read := found[:0]
	for _, v := range found {
		if s, err := schema.SelectorFromJSON(make([]byte, 0, len(v)), v); err == nil {
			read = append(read, s)
		}
	}
	return read, nil
}

// labelsAt appends the labels at a path, as entries of a map on the wire.
func labelsAt(dst [][]byte, p *schema.Path, raw []byte) ([][]byte, error) {
	if !p.JSON() {
		return p.Raw(dst, raw)
	}
	found, err := p.Raw(nil, raw)
	for _, v := range found {
		if err == nil {
			dst, err = schema.LabelsFromJSON(dst, v)
		}
	}
	return dst, err
}

// matchesLabels reports whether one of the selectors matches the labels, which are map entries on the wire.
func (s selectors) matchesLabels(labels [][]byte) bool {
	if s.plain {
		return len(s.found) > 0 && !slices.ContainsFunc(s.found, func(entry []byte) bool { return !hasEntry(labels, entry) })
	}
	return slices.ContainsFunc(s.found, func(s []byte) bool { return matches(s, labels) })
}

// neededText returns a text that an object has if the one selector matches its labels.
func (s selectors) neededText() []byte {
	switch {
	case s.plain:
		var text []byte
		for _, e := range s.found {
			_, v := readEntry(e)
			text = longer(text, v)
		}
		return text
	case len(s.found) == 1:
		return neededText(s.found[0])
	}
	return nil
}

// neededText returns a text that the bytes of each object have whose labels a LabelSelector on the wire matches: the
// longest value that a label must have, or nil. On the wire a text is in one piece, so that an object without it needs
// no closer look: most of a namespace's objects are somebody else's.
func neededText(selector []byte) (text []byte) {
	for len(selector) > 0 {
		number, value, rest, ok := readField(selector)
		if !ok {
			return nil
		}
		selector = rest
		switch number {
		case 1:
			_, v := readEntry(value)
			text = longer(text, v)
		case 2:
			text = longer(text, onlyValue(value))
		}
	}
	return text
}

// onlyValue is the one that a label must have for the expression to hold, or nil.
func onlyValue(e []byte) (only []byte) {
	in, n := false, 0
	for len(e) > 0 {
		number, v, rest, ok := readField(e)
		if !ok {
			return nil
		}
		switch number {
		case 2:
			in = string(v) == "In"
		case 3:
			only, n = v, n+1
		}
		e = rest
	}
	if !in || n != 1 {
		return nil
	}
	return only
}

func longer(a, b []byte) []byte {
	if len(b) > len(a) {
		return b
	}
	return a
}

// selects reports whether one of the selectors at the path in the earlier object matches the labels.
func selects(p *schema.Path, raw []byte, labels [][]byte) bool {
	return selectorsAt(p, raw).matchesLabels(labels)
}

// matches reports whether a LabelSelector on the wire matches the labels. One that can't be read matches nothing.
func matches(selector []byte, labels [][]byte) bool {
	for len(selector) > 0 {
		number, value, rest, ok := readField(selector)
		if !ok {
			return false
		}
		selector = rest
		switch number {
		case 1: // matchLabels
			if !hasEntry(labels, value) {
				return false
			}
		case 2: // matchExpressions
			if !expressionHolds(value, labels) {
				return false
			}
		}
	}
	return true
}

func expressionHolds(e []byte, labels [][]byte) bool {
	var key, op []byte
	for b := e; len(b) > 0; {
		number, value, rest, ok := readField(b)
		if !ok {
			return false
		}
		switch number {
		case 1:
			key = value
		case 2:
			op = value
		}
		b = rest
	}

	value, exists := findLabel(labels, key)
	switch string(op) {
	case "In":
		return exists && hasValue(e, value)
	case "NotIn":
		return !exists || !hasValue(e, value)
	case "Exists":
		return exists
	case "DoesNotExist":
		return !exists
	}

	return false
}

// hasValue reports whether the expression lists the value.
func hasValue(e, value []byte) bool {
	for len(e) > 0 {
		number, v, rest, ok := readField(e)
		if !ok {
			return false
		}
		if number == 3 && bytes.Equal(v, value) {
			return true
		}
		e = rest
	}
	return false
}

func findLabel(labels [][]byte, key []byte) ([]byte, bool) {
	for _, l := range labels {
		if k, v := readEntry(l); bytes.Equal(k, key) {
			return v, true
		}
	}
	return nil, false
}

func hasEntry(labels [][]byte, want []byte) bool {
	k, v := readEntry(want)
	got, ok := findLabel(labels, k)
	return ok && bytes.Equal(got, v)
}

// readEntry returns key and value of a map entry.
func readEntry(b []byte) (key, value []byte) {
	for len(b) > 0 {
		number, v, rest, ok := readField(b)
		if !ok {
			break
		}
		switch number {
		case 1:
			key = v
		case 2:
			value = v
		}
		b = rest
	}
	return key, value
}

// selectorTokens returns, for each selector at the path, one key=value that labels must have to match, or the empty
// token where there is no such thing. The walk back from labels then tries only the selectors that have one of the
// labels' tokens, or the empty one.
func selectorTokens(p *schema.Path, raw []byte) [][]byte {
	found, err := rawSelectors(p, raw)
	if err != nil || len(found) == 0 {
		return nil
	}
	if p.Map() {
		return [][]byte{longest(found)}
	}
	var tokens [][]byte
	for _, s := range found {
		var entries [][]byte
		for len(s) > 0 {
			number, v, rest, ok := readField(s)
			if !ok {
				break
			}
			if number == 1 {
				entries = append(entries, v)
			}
			s = rest
		}
		tokens = append(tokens, longest(entries))
	}
	return tokens
}

// longest picks the longest entry: pod-template-hash tells more than app.
func longest(entries [][]byte) []byte {
	var token []byte
	for _, e := range entries {
		if t := labelToken(e); len(t) > len(token) || len(t) == len(token) && bytes.Compare(t, token) > 0 {
			token = t
		}
	}
	return token
}

func labelToken(e []byte) []byte {
	k, v := readEntry(e)
	return append(append(slices.Clone(k), '='), v...)
}

// appendTokens appends to dst the composites that selectors of the labels can have in an index: the prefix with each
// label's token, and with the empty one.
func appendTokens(dst []string, prefix string, labels [][]byte) []string {
	var room [256]byte
	dst = append(dst, string(appendPart(append(room[:0], prefix...), nil)))
	for _, l := range labels {
		k, v := readEntry(l)
		b := binary.AppendUvarint(append(room[:0], prefix...), uint64(len(k)+1+len(v)))
		dst = append(dst, string(append(append(append(b, k...), '='), v...)))
	}
	return dst
}

// readField reads one field off the wire; value is set for bytes fields.
func readField(b []byte) (number int, value, rest []byte, ok bool) {
	tag, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, nil, false
	}

	b = b[n:]
	switch tag & 7 {
	case 0:
		if _, n = binary.Uvarint(b); n <= 0 {
			return 0, nil, nil, false
		}
	case 1:
		n = 8
	case 2:
		size, m := binary.Uvarint(b)
		if m <= 0 || size > uint64(len(b)-m) {
			return 0, nil, nil, false
		}
		value, n = b[m:m+int(size)], m+int(size)
	case 5:
		n = 4
	default:
		return 0, nil, nil, false
	}

	if n > len(b) {
		return 0, nil, nil, false
	}
	return int(tag >> 3), value, b[n:], true
}
