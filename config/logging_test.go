package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoadLogging(t *testing.T) {
	got, err := loadText(t, head+"logging: {verbosity: 2, vmodule: [{filePattern: work*, verbosity: 4}]}")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Logging{Format: LogText, Verbosity: 2, VModule: []VModule{{"work*", 4}}}, got.Logging); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if got, err = loadText(t, head+"logging: {format: json}"); err != nil || got.Logging.Format != LogJSON {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestLoadRefusesLogging(t *testing.T) {
	for text, want := range map[string]string{
		"format: JSON":   `logging.format: Unsupported value: "JSON": supported values: "text", "json"`,
		"verbosity: -1":  "logging.verbosity: Invalid value: -1: must be at least 0",
		"verbosity: yes": "logging.verbosity: Invalid value",
		"format: json, vmodule: [{filePattern: a}]":                    "logging.vmodule: Forbidden: works with the text format only",
		"vmodule: [{verbosity: 2}]":                                    "logging.vmodule[0].filePattern: Required value",
		`vmodule: [{filePattern: "a,b"}]`:                              "logging.vmodule[0].filePattern: Invalid value",
		"vmodule: [{filePattern: a}, {filePattern: b, verbosity: -1}]": "logging.vmodule[1].verbosity: Invalid value: -1",
	} {
		if _, err := loadText(t, head+"logging: {"+text+"}"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: no %q in: %v", text, want, err)
		}
	}
}

// The flags have kube-controller-manager's names and forms, and go before the file.
func TestLoggingFlags(t *testing.T) {
	got, err := fromFlags(t, "-v=4", "--logging-format=text", "--vmodule=worker=5,cache*=2")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Logging{Format: LogText, Verbosity: 4, VModule: []VModule{{"worker", 5}, {"cache*", 2}}},
		got.Logging); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	t.Setenv("WINDLASS_VMODULE", "worker")
	if _, err := fromFlags(t); err == nil || !strings.Contains(err.Error(), `WINDLASS_VMODULE: `) ||
		!strings.Contains(err.Error(), `"worker" must be a source file's name and a verbosity, such as worker=4`) {
		t.Errorf("got %v", err)
	}
}
