package wire

import "unicode/utf8"

// maxSkip is how deep a value may nest that is kept as it is.
const maxSkip = 256

// reader reads JSON tokens.
type reader struct {
	decoder
	b []byte
	i int
}

// skipSpace skips white space and returns the byte behind it, 0 at the end.
func (r *reader) skipSpace() byte {
	for r.i < len(r.b) {
		switch c := r.b[r.i]; c {
		case ' ', '\t', '\n', '\r':
			r.i++
		default:
			return c
		}
	}
	return 0
}

func (r *reader) readWord(w string) Error {
	if len(r.b)-r.i < len(w) || unsafeString(r.b[r.i:r.i+len(w)]) != w {
		return ErrJSON
	}
	r.i += len(w)
	return 0
}

// readMembers calls do for each member of the object at hand, standing at its value; start is where the member's name
// begins.
func (r *reader) readMembers(do func(name string, start int) Error) Error {
	if r.skipSpace() != '{' {
		return ErrJSON
	}
	r.i++
	if r.skipSpace() == '}' {
		r.i++
		return 0
	}

	for {
		r.skipSpace()
		start := r.i
		name, e := r.readString()
		if e != 0 {
			return e
		}
		if r.skipSpace() != ':' {
			return ErrJSON
		}
		r.i++
		r.skipSpace()
		if e := do(name, start); e != 0 {
			return e
		}
		switch r.skipSpace() {
		case ',':
			r.i++
		case '}':
			r.i++
			return 0
		default:
			return ErrJSON
		}
	}
}

// readString reads a string.
func (r *reader) readString() (string, Error) {
	if r.i >= len(r.b) || r.b[r.i] != '"' {
		return "", ErrJSON
	}
	r.i++
	start := r.i
	for ; r.i < len(r.b); r.i++ {
		switch c := r.b[r.i]; {
		case c == '"':
			s := unsafeString(r.b[start:r.i])
			r.i++
			return s, 0
		case c == '\\':
			return r.readEscaped(start)
		case c < ' ':
			return "", ErrJSON
		}
	}
	return "", ErrTruncated
}

// readEscaped goes on with a string at its first backslash.
func (r *reader) readEscaped(start int) (string, Error) {
	s := append([]byte(nil), r.b[start:r.i]...)
	for r.i < len(r.b) {
		c := r.b[r.i]
		r.i++
		switch {
		case c == '"':
			return unsafeString(s), 0
		case c < ' ':
			return "", ErrJSON
		case c != '\\':
			s = append(s, c)
			continue
		}

		if r.i >= len(r.b) {
			break
		}
		c = r.b[r.i]
		r.i++
		switch c {
		case '"', '\\', '/':
			s = append(s, c)
		case 'b':
			s = append(s, '\b')
		case 'f':
			s = append(s, '\f')
		case 'n':
			s = append(s, '\n')
		case 'r':
			s = append(s, '\r')
		case 't':
			s = append(s, '\t')
		case 'u':
			v, ok := r.readHex4()
			if !ok {
				return "", ErrJSON
			}
			if v >= 0xd800 && v < 0xe000 {
				v = r.surrogate(v)
			}
			s = utf8.AppendRune(s, v)
		default:
			return "", ErrJSON
		}
	}
	return "", ErrTruncated
}

// surrogate reads the second half of a pair; a half alone is no character.
func (r *reader) surrogate(high rune) rune {
	at := r.i
	if high < 0xdc00 && r.readWord(`\u`) == 0 {
		if low, ok := r.readHex4(); ok && low >= 0xdc00 && low < 0xe000 {
			return (high-0xd800)<<10 | (low - 0xdc00) + 0x10000
		}
	}
	r.i = at
	return utf8.RuneError
}

// readHex4 reads the four digits of an escape.
func (r *reader) readHex4() (v rune, ok bool) {
	if v, ok = Hex4(r.b[r.i:]); ok {
		r.i += 4
	}
	return v, ok
}

// Hex4 returns the value of the four hexadecimal digits that b begins with; ok reports whether it begins so.
func Hex4(b []byte) (v rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		v = v<<4 | rune(c)
	}
	return v, true
}

// readNumber reads a number and returns its text.
func (r *reader) readNumber() (string, Error) {
	start := r.i
	if r.startsWith('-') {
		r.i++
	}
	zero := r.startsWith('0')
	if n := r.skipDigits(); n == 0 || zero && n > 1 {
		return "", ErrJSON
	}
	if r.startsWith('.') {
		r.i++
		if r.skipDigits() == 0 {
			return "", ErrJSON
		}
	}
	if r.startsWith('e') || r.startsWith('E') {
		r.i++
		if r.startsWith('+') || r.startsWith('-') {
			r.i++
		}
		if r.skipDigits() == 0 {
			return "", ErrJSON
		}
	}
	return unsafeString(r.b[start:r.i]), 0
}

func (r *reader) startsWith(c byte) bool { return r.i < len(r.b) && r.b[r.i] == c }

func (r *reader) skipDigits() (n int) {
	for ; r.i < len(r.b) && r.b[r.i] >= '0' && r.b[r.i] <= '9'; r.i++ {
		n++
	}
	return n
}

func (r *reader) textOrNumber(c byte) (string, Error) {
	if c == '"' {
		return r.readString()
	}
	return r.readNumber()
}

// readInteger reads an integer of so many bits.
func (r *reader) readInteger(bits uint) (int64, Error) {
	s, e := r.readNumber()
	if e != 0 {
		return 0, e
	}
	limit := uint64(1)<<(bits-1) - 1
	negative := s[0] == '-'
	if negative {
		s = s[1:]
		limit++
	}
	var v uint64
	for i := range len(s) {
		d := uint64(s[i] - '0')
		if d > 9 || v > (limit-d)/10 {
			return 0, ErrNumber
		}
		v = v*10 + d
	}
	if negative {
		return -int64(v), 0
	}
	return int64(v), 0
}

// readFloat reads a number of up to 15 digits exactly, others nearly.
func (r *reader) readFloat() (float64, Error) {
	s, e := r.readNumber()
	if e != 0 {
		return 0, e
	}

	var mantissa float64
	exponent, behind, i := 0, false, 0
	if s[0] == '-' {
		i++
	}

	for ; i < len(s) && s[i] != 'e' && s[i] != 'E'; i++ {
		if s[i] == '.' {
			behind = true
			continue
		}
		mantissa = mantissa*10 + float64(s[i]-'0')
		if behind {
			exponent--
		}
	}

	if i < len(s) {
		n, negative := 0, false
		for _, c := range []byte(s[i+1:]) {
			if c == '-' {
				negative = true
			} else if c != '+' && n < 10000 {
				n = n*10 + int(c-'0')
			}
		}
		if negative {
			n = -n
		}
		exponent += n
	}

	p := 1.0
	for k := exponent; k != 0 && p < 1e308 && mantissa != 0; {
		if k > 0 {
			k--
		} else {
			k++
		}
		p *= 10
	}

	if exponent < 0 {
		mantissa /= p
	} else {
		mantissa *= p
	}

	if s[0] == '-' {
		mantissa = -mantissa
	}
	return mantissa, 0
}

// skipValue passes over a value of any kind.
func (r *reader) skipValue(depth int) Error {
	if depth == 0 {
		return ErrDepth
	}

	switch c := r.skipSpace(); c {
	case '"':
		_, e := r.readString()
		return e
	case '{':
		return r.readMembers(func(string, int) Error { return r.skipValue(depth - 1) })
	case '[':
		r.i++
		if r.skipSpace() == ']' {
			r.i++
			return 0
		}
		for {
			if e := r.skipValue(depth - 1); e != 0 {
				return e
			}
			switch r.skipSpace() {
			case ',':
				r.i++
			case ']':
				r.i++
				return 0
			default:
				return ErrJSON
			}
		}
	case 't':
		return r.readWord("true")
	case 'f':
		return r.readWord("false")
	case 'n':
		return r.readWord("null")
	}

	_, e := r.readNumber()
	return e
}
