package effects

import (
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

var webApps = schema.Custom(abi.Resource{Group: "example.com", Version: "v1", Name: "webapps"}, "WebApp", true)

func TestAnswersInJSON(t *testing.T) {
	_, kind, raw, err := unwrapOf(webApps,
		[]byte(`{"apiVersion":"example.com/v1","kind":"Apps","metadata":{"resourceVersion":"7","continue":"c"},"items":[{"metadata":{"name":"a","uid":"u"},"spec":{}},{"metadata":{"name":"b"}}]}`))
	if err != nil || kind != "Apps" {
		t.Fatal(kind, err)
	}
	l, err := readList(raw)
	if err != nil || l.version != "7" || l.next != "c" || len(l.items) != 2 {
		t.Fatalf("%+v %v", l, err)
	}
	if m, err := readMeta(l.items[0]); err != nil || m.name != "a" || m.uid != "u" {
		t.Error(m, err)
	}
	o, err := openAnswer(webApps, []byte(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}`))
	if err != nil || o.raw != nil {
		t.Error(o, err)
	}
	if _, err := openAnswer(webApps, []byte(`{"kind":`)); err == nil {
		t.Error("a torn answer was taken")
	}
}
