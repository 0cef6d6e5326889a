package abi

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var add = flag.Bool("add", false, "write what testdata/v1 doesn't have yet; what it has is never changed")

var (
	messagesFile = filepath.Join("testdata", "v1", "messages.txt")
	manifestsDir = filepath.Join("testdata", "v1")
)

// Version 1 is kept: what the bytes of testdata/v1/messages.txt mean, and which bytes a message is written as.
func TestVersion1Messages(t *testing.T) {
	kept, known := readKept(t), readProto(t)

	for _, v := range version1Messages() {
		k, ok := kept[v.name]
		if !ok && *add && !v.read {
			k = &keptMessage{name: v.name, message: typeName(v.message), bytes: encode(t, v.message)}
			k.appendToFile(t, known)
			ok = true
		}
		if !ok {
			t.Errorf("%s has no bytes in %s; its head says how they are added", v.name, messagesFile)
			continue
		}
		delete(kept, v.name)

		t.Run(v.name, func(t *testing.T) { k.checkMeaning(t, known, v) })
	}

	for name := range kept {
		t.Errorf("%s of %s has no value here: what was kept once is kept", name, messagesFile)
	}
}

// Version 1 is kept: the manifests of testdata/v1 are written as they are there, and read as what they mean.
func TestVersion1Manifests(t *testing.T) {
	kept := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(manifestsDir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		kept[f] = true
	}

	for name, want := range version1Manifests() {
		file := filepath.Join(manifestsDir, name+".json")
		written := AppendManifest(nil, want)
		if !kept[file] && *add {
			var text bytes.Buffer
			if err := json.Indent(&text, written, "", "  "); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, append(text.Bytes(), '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		delete(kept, file)

		text, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%v; the head of %s says how it is added", err, messagesFile)
			continue
		}
		got, err := DecodeManifest(text)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s means something else now (-want +got):\n%s", file, d)
		}

		var compact bytes.Buffer
		if err := json.Compact(&compact, text); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(compact.Bytes(), written) {
			t.Errorf("%s is written otherwise now:\n%s\nwas\n%s", file, written, compact.Bytes())
		}
	}

	for file := range kept {
		t.Errorf("%s has no value here: what was kept once is kept", file)
	}
}

// No message, field, kind or other constant of the ABI is without golden bytes: who adds one adds those.
func TestVersion1IsWhole(t *testing.T) {
	seen := newSeen()
	for _, v := range version1Messages() {
		seen.noteValue(reflect.ValueOf(v.message).Elem())
	}
	for _, m := range version1Manifests() {
		seen.noteValue(reflect.ValueOf(m).Elem())
	}

	for _, field := range seen.unsetFields() {
		t.Errorf("no value of version 1 sets %s: add one", field)
	}

	structs, constants := 0, 0
	for _, file := range []string{"messages.go", "manifest.go", "x509.go"} {
		for _, d := range declarations(t, file) {
			switch {
			case d.of == "struct":
				if structs++; !seen.hasType(d.name) {
					t.Errorf("no value of version 1 has a %s: add one, and to version1Messages what it is in", d.name)
				}
			case d.of != "" || strings.HasPrefix(d.value, `"`):
				if constants++; !seen.hasConstant(t, d) {
					t.Errorf("no value of version 1 has the constant %s = %s: add one", d.name, d.value)
				}
			}
		}
	}

	if structs < 30 || constants < 60 {
		t.Errorf("found %d structs and %d constants in this package's source?", structs, constants)
	}
}

// abi.proto, from which other languages are served, has the messages and fields that the bytes have.
func TestVersion1Proto(t *testing.T) {
	known, used := readProto(t), map[string]bool{}
	for _, k := range readKept(t) {
		k.visitFields(known, func(message string, f protoField) { used[message+"."+f.name] = true })
	}

	for message, fields := range known.messages {
		if message == "CustomResource" { // what is inside of an object's bytes: see host/schema
			continue
		}
		for _, f := range fields {
			if !used[message+"."+f.name] {
				t.Errorf("%s has no bytes of %s.%s of abi.proto: add some", messagesFile, message, f.name)
			}
		}
	}
}

// keptMessage is a message of testdata/v1/messages.txt.
type keptMessage struct {
	name, message string
	onlyRead      bool
	bytes         []byte
	text          string // the bytes and their notes, as the file has them
}

// readKept reads testdata/v1/messages.txt.
func readKept(t *testing.T) map[string]*keptMessage {
	t.Helper()
	text, err := os.ReadFile(messagesFile)
	if err != nil {
		t.Fatal(err)
	}

	kept, k := map[string]*keptMessage{}, (*keptMessage)(nil)
	for line := range strings.Lines(string(text)) {
		head, isHead := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "== ")
		switch {
		case isHead:
			name, message, _ := strings.Cut(head, " ")
			k = &keptMessage{name: name}
			k.message, k.onlyRead = strings.CutSuffix(message, ", only read")
			if kept[name] != nil {
				t.Fatalf("%s has %s twice", messagesFile, name)
			}
			kept[name] = k
		case line == "\n" || k == nil:
		default:
			digits, _, _ := strings.Cut(line, "#")
			b, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
			if err != nil {
				t.Fatalf("%s, %s: %v in %q", messagesFile, k.name, err, line)
			}
			k.bytes, k.text = append(k.bytes, b...), k.text+line
		}
	}

	return kept
}

// checkMeaning holds the message against the value that it has had from the beginning.
func (k *keptMessage) checkMeaning(t *testing.T, known *proto, want value) {
	if k.message != typeName(want.message) || k.onlyRead != want.read {
		t.Fatalf("the bytes are of a %s (only read: %v), the value is a %s (%v)",
			k.message, k.onlyRead, typeName(want.message), want.read)
	}

	got := reflect.New(reflect.TypeOf(want.message).Elem()).Interface()
	if err := decode(t, k.bytes, got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.message, got, cmpopts.EquateNaNs()); d != "" {
		t.Errorf("the bytes mean something else now (-want +got):\n%s", d)
	}
	if b := encode(t, want.message); !k.onlyRead && !bytes.Equal(b, k.bytes) {
		t.Errorf("it is written otherwise now:\n%x\nwas\n%x", b, k.bytes)
	}

	if notes := k.renderText(known); notes != k.text {
		t.Errorf("by abi.proto the bytes and their notes are\n%s", notes)
	}
}

// appendToFile adds the message to the file's end.
func (k *keptMessage) appendToFile(t *testing.T, known *proto) {
	t.Helper()
	f, err := os.OpenFile(messagesFile, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	k.text = k.renderText(known)
	if _, err := fmt.Fprintf(f, "\n== %s %s\n%s", k.name, k.message, k.text); err != nil {
		t.Fatal(err)
	}
}

// renderText returns the bytes in hex, a line for each field with its name and value.
func (k *keptMessage) renderText(known *proto) string {
	var b strings.Builder
	known.renderFields(&b, k.message, k.bytes, 0)
	return b.String()
}

// visitFields calls f for each field of the message and of those inside of it.
func (k *keptMessage) visitFields(known *proto, f func(message string, field protoField)) {
	known.visitFields(k.message, k.bytes, f)
}

// typeName returns the name of a message's type.
func typeName(message any) string { return reflect.TypeOf(message).Elem().Name() }

func encode(t *testing.T, message any) []byte {
	t.Helper()
	switch m := message.(type) {
	case *Settings:
		return AppendSettings(nil, m)
	case *SyncRequest:
		b := AppendRequest(nil, m)
		if len(b) != SizeRequest(m) {
			t.Errorf("a request of %d bytes was said to have %d", len(b), SizeRequest(m))
		}
		return b
	case *SyncResponse:
		return AppendResponse(nil, m)
	case *PerformRequest:
		return AppendPerform(nil, m)
	case *PerformResponse:
		return AppendPerformed(nil, m)
	case *X509:
		return AppendX509(nil, m)
	}
	t.Fatalf("a %T doesn't cross the border by itself", message)
	return nil
}

func decode(t *testing.T, b []byte, message any) error {
	t.Helper()
	switch m := message.(type) {
	case *Settings:
		return DecodeSettings(b, m)
	case *SyncRequest:
		return DecodeRequest(b, m)
	case *SyncResponse:
		return DecodeResponse(b, m)
	case *PerformRequest:
		return DecodePerform(b, m)
	case *PerformResponse:
		return DecodePerformed(b, m)
	case *X509:
		return DecodeX509(b, m)
	}
	t.Fatalf("a %T doesn't cross the border by itself", message)
	return nil
}
