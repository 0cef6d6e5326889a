package schema

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A custom resource is on the wire what it was when version 1 of the ABI was new. This is added to and never changed;
// the messages around objects are in abi/testdata/v1.
func TestVersion1CustomResource(t *testing.T) {
	for name, x := range map[string]struct {
		object, wire string
		onlyRead     bool // it is written as guests may, not as it is written here
	}{
		"whole": {`{"apiVersion":"example.com/v1","kind":"WebApp",` +
			`"metadata":{"name":"shop","namespace":"default","uid":"u-1","resourceVersion":"77","generation":3,` +
			`"creationTimestamp":"2026-01-02T03:04:05Z","labels":{"app":"web"},"annotations":{"note":"x"},` +
			`"ownerReferences":[{"apiVersion":"v1","kind":"Boss","name":"boss","uid":"u-2","controller":true}],` +
			`"finalizers":["example.com/shop"]},"spec":{"replicas":3,"off":null},"status":{}}`, `
			0a 6a                                                 # metadata
			  0a 04 73 68 6f 70                                   # name: "shop"
			  12 00                                               # generateName: ""
			  1a 07 64 65 66 61 75 6c 74                          # namespace: "default"
			  22 00                                               # selfLink: ""
			  2a 03 75 2d 31                                      # uid: "u-1"
			  32 02 37 37                                         # resourceVersion: "77"
			  38 03                                               # generation: 3
			  42 08                                               # creationTimestamp
			    08 a5 eb dc ca 06                                 # seconds
			    10 00                                             # nanoseconds: 0
			  5a 0a                                               # labels: an entry
			    0a 03 61 70 70                                    # its key: "app"
			    12 03 77 65 62                                    # its value: "web"
			  62 09                                               # annotations: an entry
			    0a 04 6e 6f 74 65                                 # its key: "note"
			    12 01 78                                          # its value: "x"
			  6a 17                                               # ownerReferences
			    0a 04 42 6f 73 73                                 # kind: "Boss"
			    1a 04 62 6f 73 73                                 # name: "boss"
			    22 03 75 2d 32                                    # uid: "u-2"
			    2a 02 76 31                                       # apiVersion: "v1"
			    30 01                                             # controller: true
			  72 10 65 78 61 6d 70 6c 65 2e 63 6f 6d 2f 73 68 6f 70 # finalizers: "example.com/shop"
			12 2e                                                 # body: {"spec":{"replicas":3,"off":null},"status":{}}
			  7b 22 73 70 65 63 22 3a 7b 22 72 65 70 6c 69 63 61 73 22 3a 33 2c 22 6f 66 66 22 3a 6e 75 6c 6c 7d 2c
			  22 73 74 61 74 75 73 22 3a 7b 7d 7d
			`, false},
		"by-a-guest": {`{"apiVersion":"example.com/v1","kind":"WebApp","metadata":{"name":"shop"},"spec":{"replicas":3}}`, `
			0a 06                                                 # metadata
			  0a 04 73 68 6f 70                                   # name: "shop"
			12 17                                                 # body: {"spec":{"replicas":3}}
			  7b 22 73 70 65 63 22 3a 7b 22 72 65 70 6c 69 63 61 73 22 3a 33 7d 7d
			`, true},
	} {
		wire := decodeHex(t, x.wire)
		raw, _, _, err := FromJSON(nil, []byte(x.object), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !x.onlyRead && !bytes.Equal(raw, wire) {
			t.Errorf("%s: it is written otherwise now:\n%x\nwas\n%x", name, raw, wire)
		}

		object, err := webApps.JSON(wire)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(decodeJSON(t, x.object), decodeJSON(t, string(object))); d != "" {
			t.Errorf("%s: the bytes mean something else now (-want +got):\n%s", name, d)
		}
	}
}

// decodeHex returns the bytes of lines in hex with notes.
func decodeHex(t *testing.T, text string) (b []byte) {
	t.Helper()
	for line := range strings.Lines(text) {
		digits, _, _ := strings.Cut(line, "#")
		part, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, part...)
	}
	return b
}

func decodeJSON(t *testing.T, text string) (object map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}
