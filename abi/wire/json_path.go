package wire

import "unsafe"

// PathError is why a JSON document can't be decoded, with the place.
type PathError struct {
	Path string // of the value: spec.ports[2].name
	Err  Error
}

// Error returns the path and what is wrong there.
func (e *PathError) Error() string {
	if e.Path == "" {
		return e.Err.Error()
	}
	return e.Path + ": " + e.Err.Error()
}

// Unwrap returns what is wrong without the place.
func (e *PathError) Unwrap() error { return e.Err }

// UnmarshalJSONPath is [UnmarshalJSON] with errors that are a [PathError]. It is apart because the search for the path
// is code that few modules need.
func UnmarshalJSONPath(b []byte, p unsafe.Pointer, t *Type) error {
	at, e := unmarshalJSON(b, p, t)
	if e == 0 {
		return nil
	}
	if e == ErrJSON {
		whole := reader{b: b}
		if whole.skipValue(maxSkip) == 0 && whole.skipSpace() == 0 && whole.i == len(b) {
			e = ErrType
		}
	}
	r := reader{b: b}
	return &PathError{string(r.appendPath(nil, at, maxSkip)), e}
}

// found ends a search.
const found Error = 255

// appendPath appends the path to the innermost value that the byte at lies in, or directly behind.
func (r *reader) appendPath(path []byte, at, depth int) []byte {
	c := r.skipSpace()
	if r.i >= at || depth == 0 {
		return path
	}

	switch c {
	case '{':
		r.readMembers(func(name string, _ int) Error {
			switch past, holds := r.reachesByte(at); {
			case past:
				return 0
			case holds:
				if len(path) > 0 {
					path = append(path, '.')
				}
				path = r.appendPath(append(path, name...), at, depth-1)
			}
			return found
		})
	case '[':
		r.i++
		for i := int64(0); ; i++ {
			r.skipSpace()
			past, holds := r.reachesByte(at)
			if holds {
				return r.appendPath(append(appendInt(append(path, '['), i), ']'), at, depth-1)
			}
			if !past || r.skipSpace() != ',' {
				return path
			}
			r.i++
		}
	}

	return path
}

// reachesByte reports of the value at hand whether it ends before the byte at, having passed over it then, or else
// whether it begins there or before.
func (r *reader) reachesByte(at int) (past, holds bool) {
	start := r.i
	if e := r.skipValue(maxSkip); e == 0 && r.i < at {
		return true, false
	}
	r.i = start
	return false, start <= at
}
