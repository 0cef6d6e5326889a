package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoadTracing(t *testing.T) {
	pem := filepath.Join(t.TempDir(), "pem")
	if err := os.WriteFile(pem, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := loadText(t, head+
		"tracing: {endpoint: 'collector:4317', samplingRatePerMillion: 0, tls: {enabled: true, caFile: "+pem+", certFile: "+
		pem+", keyFile: "+pem+", serverName: s}}")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Tracing{Endpoint: "collector:4317", TLS: TracingTLS{true, pem, pem, pem, "s"}}, got.Tracing); d !=
		"" {
		t.Errorf("-want +got:\n%s", d)
	}
	for endpoint, want := range map[string]bool{"localhost:4317": true, "127.0.0.1:4317": true, "[::1]:4317": true,
		"collector:4317": false, "10.0.0.1:4317": false, "": false} {
		if got := (&Tracing{Endpoint: endpoint}).Loopback(); got != want {
			t.Errorf("%q is on loopback: %v", endpoint, got)
		}
	}
}

func TestLoadRefusesTracing(t *testing.T) {
	for text, want := range map[string]string{
		"endpoint: collector":                       `tracing.endpoint: Invalid value: "collector": must be host:port`,
		"endpoint: 'http://collector:4317'":         "tracing.endpoint: Invalid value",
		"endpoint: ':4317'":                         "tracing.endpoint: Invalid value",
		"endpoint: 'collector:0'":                   "tracing.endpoint: Invalid value",
		"samplingRatePerMillion: 1000001":           "tracing.samplingRatePerMillion: Invalid value: 1000001: must be from 0 to 1000000",
		"samplingRatePerMillion: -1":                "tracing.samplingRatePerMillion: Invalid value",
		"tls: {enabled: true, caFile: /nowhere}":    "tracing.tls.caFile: Invalid value",
		"tls: {caFile: /dev/null}":                  "tracing.tls.caFile: Invalid value: \"/dev/null\": needs tls.enabled",
		"tls: {serverName: s}":                      "tracing.tls.serverName: Invalid value: \"s\": needs tls.enabled",
		"tls: {enabled: true, certFile: /dev/null}": "tracing.tls.keyFile: Required value: certFile and keyFile go together",
	} {
		if _, err := loadText(t, head+"tracing: {"+text+"}"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: no %q in: %v", text, want, err)
		}
	}
}
