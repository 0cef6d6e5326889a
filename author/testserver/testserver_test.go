package testserver

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/author/scaffold"
	"github.com/windlass-dev/windlass/sdk/plugintest/pipe"
)

// go test says of types that were changed since what is generated from them, and what to do.
func TestChangedTypes(t *testing.T) {
	folder, _, err := scaffold.New(t.Context(), scaffold.Options{Name: "quota", Kind: "Quota", Group: "example.com",
		Folder: filepath.Join(t.TempDir(), "quota"), Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	types := filepath.Join(folder, "api/v1/types.go")
	text, err := os.ReadFile(types)
	if err != nil {
		t.Fatal(err)
	}
	const old = "type QuotaStatus struct {\n"
	if err := os.WriteFile(types, bytes.Replace(text, []byte(old), []byte(old+"\tMore string `json:\"more\"`\n"), 1),
		0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)

	var in, out bytes.Buffer
	test := &pipe.Conn{R: &out, W: &in}
	if err := test.SendJSON(pipe.Job, pipe.Request{Do: "cases"}); err != nil {
		t.Fatal(err)
	}
	views := []abi.View{{Name: "quotas", Resource: abi.Resource{Group: "example.com", Version: "v1", Name: "quotas"},
		Fields: []string{"spec"}}}
	if err := test.Send(pipe.Manifest, abi.AppendManifest(nil, &abi.Manifest{Name: "quota",
		Controllers: []abi.Controller{{Name: "quota-controller", Views: views}}})); err != nil {
		t.Fatal(err)
	}
	if err := Serve(t.Context(), &in, &out); err != nil {
		t.Fatal(err)
	}
	what, answer, err := test.Receive()
	if err != nil || what != pipe.Error || !strings.Contains(string(answer), "don't match the types") ||
		!strings.Contains(string(answer), "run windlass plugin generate") {
		t.Errorf("it answers %v %q, %v", what, answer, err)
	}
}
