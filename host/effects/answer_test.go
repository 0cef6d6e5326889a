package effects

import (
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

var webApps = schema.Custom(abi.Resource{Group: "example.com", Version: "v1", Name: "webapps"}, "WebApp", true)

func TestAnswersInJSON(t *testing.T) {
	o, err := openAnswer(webApps, []byte(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}`))
	if err != nil || o.raw != nil {
		t.Error(o, err)
	}
	if _, err := openAnswer(webApps, []byte(`{"kind":`)); err == nil {
		t.Error("a torn answer was taken")
	}
}
