package record

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/windlass-dev/windlass/abi/wire"
)

// tokenMin is the length from which on any text within a message that is secret as a whole, such as a token's review,
// is looked for elsewhere: names and kinds are shorter.
const tokenMin = 40

// depthMax bounds how deep messages are looked into.
const depthMax = 16

// rememberWithin remembers the values that a secret text has within it: a Secret or a patch of one in JSON, or a
// message with a token.
func (r *redaction) rememberWithin(b []byte) {
	if len(b) == 0 {
		return
	}
	if b[0] == '{' || b[0] == '[' {
		var v any
		if json.Unmarshal(b, &v) == nil {
			r.rememberJSON(v, false)
			return
		}
	}
	r.inMessage(b, 0)
}

// rememberJSON remembers the texts below data and stringData, and those that a JSON patch sets.
func (r *redaction) rememberJSON(v any, secret bool) {
	switch v := v.(type) {
	case string:
		if secret {
			r.remember([]byte(v))
			if b, err := base64.StdEncoding.DecodeString(v); err == nil {
				r.remember(b)
			}
		}
	case []any:
		for _, x := range v {
			r.rememberJSON(x, secret)
		}
	case map[string]any:
		path, _ := v["path"].(string)
		for k, x := range v {
			r.rememberJSON(x, secret || k == "data" || k == "stringData" || k == "value" &&
				(strings.HasPrefix(path, "/data") || strings.HasPrefix(path, "/stringData") || path == "/" || path == ""))
		}
	}
}

// inMessage remembers the long texts in a message.
func (r *redaction) inMessage(b []byte, depth int) {
	f := wire.Fields{Data: b}
	for f.Next() {
		if f.Type != wire.WireBytes {
			continue
		}
		if len(f.Bytes) >= tokenMin && utf8.Valid(f.Bytes) && printed(f.Bytes) {
			r.remember(f.Bytes)
		} else if depth < depthMax {
			r.inMessage(f.Bytes, depth+1)
		}
	}
}

func printed(b []byte) bool {
	for _, c := range b {
		if c < ' ' {
			return false
		}
	}
	return true
}
