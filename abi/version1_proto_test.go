package abi

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi/wire"
)

// proto is what abi.proto says.
type proto struct {
	messages map[string]map[uint32]protoField
	enums    map[string]map[uint64]string
}

type protoField struct{ typ, name string }

var (
	protoBlock  = regexp.MustCompile(`^(message|enum) (\w+) \{`)
	protoMember = regexp.MustCompile(`^  (?:repeated )?(\w+) (\w+) = (\d+);`)
	protoNumber = regexp.MustCompile(`^  (\w+) = (\d+);`)
)

// readProto reads abi.proto.
func readProto(t *testing.T) *proto {
	t.Helper()
	text, err := os.ReadFile("abi.proto")
	if err != nil {
		t.Fatal(err)
	}

	p := &proto{map[string]map[uint32]protoField{}, map[string]map[uint64]string{}}
	block := ""
	for line := range strings.Lines(string(text)) {
		if m := protoBlock.FindStringSubmatch(line); m != nil {
			block = m[2]
			if m[1] == "enum" {
				p.enums[block] = map[uint64]string{}
			} else {
				p.messages[block] = map[uint32]protoField{}
			}
		} else if m := protoMember.FindStringSubmatch(line); m != nil {
			number, _ := strconv.ParseUint(m[3], 10, 32)
			p.messages[block][uint32(number)] = protoField{m[1], m[2]}
		} else if m := protoNumber.FindStringSubmatch(line); m != nil {
			number, _ := strconv.ParseUint(m[2], 10, 32)
			p.enums[block][number] = m[1]
		}
	}

	return p
}

// renderFields writes a message's fields, those of messages inside of it indented.
func (p *proto) renderFields(to *strings.Builder, message string, b []byte, depth int) {
	for f := (wire.Fields{Data: b}); f.Next(); {
		field, isKnown := p.messages[message][f.Num]
		raw, note := f.Raw(), field.name
		switch {
		case !isKnown:
			note = fmt.Sprintf("unknown: %d", f.Num)
		case p.messages[field.typ] != nil:
			raw = raw[:len(raw)-len(f.Bytes)]
		case p.enums[field.typ] != nil:
			note += ": " + p.enums[field.typ][f.Uint]
		case field.typ == "double":
			note += fmt.Sprintf(": %v", math.Float64frombits(f.Uint))
		case f.Type == wire.WireBytes && field.typ == "int32":
			note += ": several"
		case f.Type == wire.WireBytes:
			note += fmt.Sprintf(": %q", f.Bytes)
		default:
			note += fmt.Sprintf(": %d", int64(f.Uint))
		}

		fmt.Fprintf(to, "%-48s # %s\n", strings.Repeat("  ", depth)+fmt.Sprintf("% x", raw), note)
		if isKnown && p.messages[field.typ] != nil {
			p.renderFields(to, field.typ, f.Bytes, depth+1)
		}
	}
}

// visitFields calls visit for each known field of a message and of those inside of it.
func (p *proto) visitFields(message string, b []byte, visit func(message string, f protoField)) {
	for f := (wire.Fields{Data: b}); f.Next(); {
		field, isKnown := p.messages[message][f.Num]
		if !isKnown {
			continue
		}
		visit(message, field)
		if p.messages[field.typ] != nil {
			p.visitFields(field.typ, f.Bytes, visit)
		}
	}
}
