package schema

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/windlass-dev/windlass/abi/wire"
)

// jsonDepth is how deep JSON may be nested: as deep as the API server takes it.
const jsonDepth = 10_000

// badJSON says what is wrong with a text at a byte.
func badJSON(b []byte, i int, what string) error {
	if i >= len(b) {
		return fmt.Errorf("JSON: it ends at byte %d, in the middle of a value", len(b))
	}
	return fmt.Errorf("JSON: byte %d is %q: %s", i, b[i], what)
}

// skipSpace returns where the white space at b[i:] ends.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// walk goes through the members of an object or the elements of a list. Who walks sets at to where each value ends.
// Nothing is allocated.
type walk struct {
	b     []byte
	at    int // where next goes on
	depth int // of the values
	end   byte
	begun bool
	name  []byte // of the member, as it is between its quotes
	value int    // where the value starts
}

// container reports whether there is an object or a list at b[i:].
func container(b []byte, i int) bool { return i < len(b) && (b[i] == '{' || b[i] == '[') }

// walkValue begins at the object or list at b[i:], which is itself a value at the depth.
func walkValue(b []byte, i, depth int) walk {
	return walk{b: b, at: i + 1, depth: depth + 1, end: b[i] + 2} // } and ] come two after { and [
}

// next finds the next member or element; false at the end, behind which w.at is then.
func (w *walk) next() (bool, error) {
	if w.depth > jsonDepth {
		return false, fmt.Errorf("JSON: nested more than %d levels deep", jsonDepth)
	}
	b, i := w.b, skipSpace(w.b, w.at)
	if i < len(b) && b[i] == w.end {
		w.at = i + 1
		return false, nil
	}

	if w.begun {
		if i >= len(b) || b[i] != ',' {
			return false, badJSON(b, i, "expected a comma or the end of the object or list")
		}
		i = skipSpace(b, i+1)
	}

	w.begun = true
	if w.end == '}' {
		end, err := skipString(b, i)
		if err != nil {
			return false, err
		}
		w.name = b[i+1 : end-1]
		if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
			return false, badJSON(b, i, "expected a colon")
		}
		i = skipSpace(b, i+1)
	}
	w.value = i
	return true, nil
}

// skipValue returns where the value at b[i:] ends.
func skipValue(b []byte, i, depth int) (int, error) {
	if i >= len(b) {
		return 0, badJSON(b, i, "")
	}
	switch b[i] {
	case '{', '[':
		w := walkValue(b, i, depth)
		for {
			more, err := w.next()
			if err != nil || !more {
				return w.at, err
			}
			if w.at, err = skipValue(b, w.value, w.depth); err != nil {
				return 0, err
			}
		}
	case '"':
		return skipString(b, i)
	case 't':
		return skipWord(b, i, "true")
	case 'f':
		return skipWord(b, i, "false")
	case 'n':
		return skipWord(b, i, "null")
	}
	return skipNumber(b, i)
}

func skipWord(b []byte, i int, word string) (int, error) {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return 0, badJSON(b, i, "expected a value")
	}
	return i + len(word), nil
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}

func skipNumber(b []byte, i int) (int, error) {
	start := i
	if b[i] == '-' {
		i++
	}

	from := i
	if i = skipDigits(b, i); i == from {
		return 0, badJSON(b, start, "expected a value")
	}

	if b[from] == '0' && i > from+1 {
		return 0, badJSON(b, from, "a number with a leading zero")
	}
	if i < len(b) && b[i] == '.' {
		from = i + 1
		if i = skipDigits(b, from); i == from {
			return 0, badJSON(b, i, "expected a digit")
		}
	}

	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		from = i
		if i = skipDigits(b, i); i == from {
			return 0, badJSON(b, i, "expected a digit")
		}
	}
	return i, nil
}

func skipString(b []byte, i int) (int, error) {
	if i >= len(b) || b[i] != '"' {
		return 0, badJSON(b, i, "expected a string")
	}

	start, plain := i, true
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			if !plain && !utf8.Valid(b[start:i]) {
				return 0, badJSON(b, start, "a string that isn't UTF-8")
			}
			return i + 1, nil
		case c < ' ':
			return 0, badJSON(b, i, "a control character in a string")
		case c >= utf8.RuneSelf:
			plain = false
		case c == '\\':
			if i++; i >= len(b) {
				return 0, badJSON(b, i, "")
			}
			switch b[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if _, ok := wire.Hex4(b[i+1:]); !ok {
					return 0, badJSON(b, i, "expected four hexadecimal digits after it")
				}
				i += 4
			default:
				return 0, badJSON(b, i, "unknown escape")
			}
		}
	}
	return 0, badJSON(b, i, "")
}

// unquoted returns a string's text: a part of b where nothing is escaped in it. s is what is between the quotes of a
// string that was skipped before.
func unquoted(s []byte) []byte {
	if bytes.IndexByte(s, '\\') < 0 {
		return s
	}
	return appendUnquoted(make([]byte, 0, len(s)), s)
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// appendUnquoted appends a string's text. Half of a surrogate pair becomes U+FFFD, as in every decoder of Go.
func appendUnquoted(dst, s []byte) []byte {
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
		if s[i+1] != 'u' {
			dst, s = append(dst, escapes[s[i+1]]), s[i+2:]
			continue
		}
		r, _ := wire.Hex4(s[i+2:])
		s = s[i+6:]
		if utf16.IsSurrogate(r) {
			pair := rune(utf8.RuneError)
			if len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
				low, _ := wire.Hex4(s[2:])
				pair = utf16.DecodeRune(r, low)
			}
			if r = pair; pair != utf8.RuneError {
				s = s[6:]
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
}

// isNamed reports whether a member's name, as it is between its quotes, is this one.
func isNamed(raw []byte, name string) bool {
	return string(raw) == name || bytes.IndexByte(raw, '\\') >= 0 && string(unquoted(raw)) == name
}

// expectEnd checks that nothing but white space is at b[i:].
func expectEnd(b []byte, i int) error {
	if i = skipSpace(b, i); i < len(b) {
		return badJSON(b, i, "expected the end of the text")
	}
	return nil
}

// EachMember calls f with name and value of each member of an object, in its order; with a value that isn't an object
// it gives an error.
func EachMember(object []byte, f func(name, value []byte) error) error {
	return eachValue(object, '{', f)
}

// EachElement calls f with each element of a list; with a value that isn't a list it gives an error.
func EachElement(list []byte, f func(value []byte) error) error {
	return eachValue(list, '[', func(_, value []byte) error { return f(value) })
}

func eachValue(b []byte, opening byte, f func(name, value []byte) error) error {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != opening {
		return badJSON(b, i, fmt.Sprintf("expected %q", opening))
	}
	w := walkValue(b, i, 0)
	for {
		more, err := w.next()
		if err != nil {
			return err
		}
		if !more {
			return expectEnd(b, w.at)
		}
		if w.at, err = skipValue(b, w.value, w.depth); err != nil {
			return err
		}
		if err := f(unquoted(w.name), b[w.value:w.at:w.at]); err != nil {
			return err
		}
	}
}
