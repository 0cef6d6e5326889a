package difference

import (
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/host/schema"
)

// fieldBody is the JSON of an object that isn't built in; what else it has is metadata.
const fieldBody = 2

// Accepted returns the object that a guest has in hand after a write of one subresource: of what it sent the part that
// this subresource stores, and the rest as the server answered it. What was sent is an error where it can't be read.
func Accepted(res *schema.Resource, answer, sent []byte, subresource string) ([]byte, error) {
	if subresource != "" && subresource != "status" && (res.Custom || subresource != "approval") {
		return answer, nil
	}
	if res.Custom {
		return acceptedBody(answer, sent, subresource)
	}

	var status int32
	if f := res.Message.Lookup("status"); len(f) == 1 {
		status = f[0].Number
	}
	stored := func(number int32) bool { return (number == status) == (subresource != "") }
	out, err := pickFields(nil, sent, stored)
	if err != nil {
		return nil, err
	}
	return pickFields(out, answer, func(number int32) bool { return !stored(number) })
}

// acceptedBody is Accepted of an object that isn't built in, whose status is in the body.
func acceptedBody(answer, sent []byte, subresource string) ([]byte, error) {
	meta := sent
	if subresource == "status" {
		meta = answer
	}
	out, err := pickFields(nil, meta, func(number int32) bool { return number != fieldBody })
	if err != nil {
		return nil, err
	}

	out, start := wire.Begin(out, fieldBody)
	b := &object{out: append(out, '{')}
	for _, from := range []struct {
		raw    []byte
		status bool
	}{{sent, subresource == "status"}, {answer, subresource != "status"}} {
		members, err := membersIn(from.raw)
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			if (m.name == "status") == from.status {
				b.addMember(m.name, m.value)
			}
		}
	}
	return wire.End(append(b.out, '}'), start), nil
}

// pickFields appends the fields of a message that are wanted.
func pickFields(dst, raw []byte, wanted func(number int32) bool) ([]byte, error) {
	parts, err := splitFields(raw)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		if wanted(p.number) {
			dst = append(dst, p.whole...)
		}
	}
	return dst, nil
}

// membersIn returns the members of an object's body.
func membersIn(raw []byte) ([]property, error) {
	parts, err := splitFields(raw)
	if err != nil {
		return nil, err
	}
	return members(jsonBody(partsOfField(parts, fieldBody)))
}

// jsonBody returns the text in the field, which an object may lack.
func jsonBody(parts []part) []byte {
	if len(parts) == 0 || len(lastValue(parts)) == 0 {
		return []byte("{}")
	}
	return lastValue(parts)
}
