package wire

// Error is why bytes are not a message.
type Error uint8

// The errors of decoding.
const (
	ErrTruncated Error = 1 + iota
	ErrVarint
	ErrTag
	ErrWireType
	ErrDepth
	ErrSize
	ErrJSON
	ErrNumber
	ErrTime
	ErrType
)

// Error names what is wrong with the bytes.
func (e Error) Error() string {
	switch e {
	case ErrTruncated:
		return "wire: the message is cut short"
	case ErrVarint:
		return "wire: a number is longer than 64 bits"
	case ErrTag:
		return "wire: a field has an impossible number"
	case ErrWireType:
		return "wire: a field has the wrong wire type"
	case ErrDepth:
		return "wire: nested too deeply"
	case ErrSize:
		return "wire: needs too much memory for its size"
	case ErrJSON:
		return "wire: malformed JSON"
	case ErrNumber:
		return "wire: a JSON number is no integer of the field's size"
	case ErrTime:
		return "wire: a time is not in RFC 3339"
	case ErrType:
		return "wire: a JSON value is of another type than its field"
	}
	return "wire: malformed"
}

// The bounds of decoding.
const (
	// MaxDepth is how deep messages, or JSON values, may nest.
	MaxDepth = 48
	// Expansion is how many bytes of memory decoding may take for each byte of input, beside ExpansionBase.
	Expansion     = 64
	ExpansionBase = 1 << 20
	// ExpansionMax is how many bytes of memory decoding may take at all.
	ExpansionMax = 512 << 20
)
