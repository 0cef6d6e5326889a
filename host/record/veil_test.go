package record

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi"
)

// Whichever way a sync has come by a secret, what is written of it while it runs doesn't have it.
func TestVeilHidesWhatASyncHasSeen(t *testing.T) {
	f := secretSyncs(t)
	source := f.Sources[0].Veiled(0)
	if source == nil {
		t.Fatal("a controller that reads Secrets has no veil")
	}

	encoded := base64.StdEncoding.EncodeToString([]byte(password))
	// those that have met the value as one; the others have said what they never saw
	for _, i := range []int{0, 4, 5, 6, 7, 8, 12} {
		s := f.Syncs[i]
		v := NewVeil(source)
		v.Request(s.Request)
		for _, p := range s.Performs {
			v.Performed(p.In, p.Out, nil)
		}
		if s.Answered {
			v.Answered(s.Answer)
		}
		cause := errors.New("it is " + password)
		err := v.Error(cause)
		if text := v.Text("it is " + password + " or " + encoded + ", says default/web"); strings.Contains(text, password) ||
			strings.Contains(text, encoded) || !strings.HasSuffix(text, ", says default/web") {
			t.Errorf("sync %d: %q", i, text)
		}
		if strings.Contains(err.Error(), password) || !errors.Is(err, cause) {
			t.Errorf("sync %d: error %v", i, err)
		}
	}

	effects := []abi.Effect{{Kind: abi.EffectGroup, Members: []abi.Effect{{Kind: abi.EffectPatch, Resource: secrets,
		Object: []byte(`{"data":{"a":"b"}}`)}}}}
	if hidden := NewVeil(source).Effects(effects); strings.Contains(string(hidden[0].Members[0].Object), "b") ||
		string(effects[0].Members[0].Object) != `{"data":{"a":"b"}}` {
		t.Errorf("%q from %q", hidden[0].Members[0].Object, effects[0].Members[0].Object)
	}
}

// A token is hidden where it stands alone, too.
func TestVeilHidesTokens(t *testing.T) {
	source := testSource("p")
	source.Manifest.Controllers[0].Writes = []abi.Write{{Resource: abi.Resource{Version: "v1", Name: "serviceaccounts"},
		Subresource: "token", Verbs: []string{"create"}}}
	token := "eyJhbGciOiJSUzI1NiIsImtpZCI6" + strings.Repeat("x", 40)
	v := NewVeil(source.Veiled(0))
	if v == nil {
		t.Fatal("a controller that gets tokens has no veil")
	}
	body := append([]byte{0x1a, byte(len(token) + 2), 0x0a, byte(len(token))}, token...) // status {token}
	v.Request(abi.AppendRequest(nil, &abi.SyncRequest{Now: 1}))
	v.Performed(abi.AppendPerform(nil, &abi.PerformRequest{Effects: []abi.Effect{{Kind: abi.EffectCreate,
		Resource: "v1/serviceaccounts", Subresource: "token"}}}),
		abi.AppendPerformed(nil, &abi.PerformResponse{Outcomes: []abi.Outcome{{Object: abi.ObjectData{Data: body}}}}), nil)
	if text := v.Text("got " + token); text != "got ***" {
		t.Errorf("%q", text)
	}
}

// Who can't see Secrets pays for no veil.
func TestVeilOfNothing(t *testing.T) {
	source := testSource("p")
	source.Manifest.Controllers[0].Views = source.Manifest.Controllers[0].Views[:1]
	v := NewVeil(source.Veiled(0))
	if v != nil {
		t.Error("there is a veil")
	}
	v.Request(nil)
	v.Performed(nil, nil, nil)
	v.Answered(nil)
	if err := errors.New("x"); v.Text("x") != "x" || v.Error(err) != err {
		t.Error("no veil changes what is said")
	}
	for _, fields := range [][]string{{"data"}, {"metadata.annotations"}, {"metadata"}, {"type"}} {
		source.Manifest.Controllers[0].Views = []abi.View{{Resource: abi.Resource{Version: "v1", Name: "secrets"},
			Fields: fields}}
		if source.Veiled(0) == nil {
			t.Errorf("a view of %v has no veil", fields)
		}
	}
}
