package main

import (
	"strings"
	"testing"
)

const said = `{"Time":"2026-01-01T00:00:00Z","Action":"start","Package":"github.com/windlass-dev/windlass/plugins/job"}
# what a compiler says
{"Time":"2026-01-01T00:00:10Z","Action":"pass","Package":"github.com/windlass-dev/windlass/plugins/job","Test":"TestX/job","Elapsed":3}
{"Time":"2026-01-01T00:00:10Z","Action":"pass","Package":"github.com/windlass-dev/windlass/plugins/job","Elapsed":4}
{"Time":"2026-01-01T00:00:20Z","Action":"pass","Package":"github.com/windlass-dev/windlass/test/all","Test":"TestAll/job-controller/part","Elapsed":1}
{"Time":"2026-01-01T00:00:21Z","Action":"pass","Package":"github.com/windlass-dev/windlass/test/all","Test":"TestAll/job-controller","Elapsed":5}
{"Time":"2026-01-01T00:01:15Z","Action":"pass","Package":"github.com/windlass-dev/windlass/test/all","Elapsed":70}
`

func TestTables(t *testing.T) {
	m := &measured{controllers: map[string]float64{}}
	if err := m.addOutput("check", []byte(said), []string{"job", "podgc"}); err != nil {
		t.Fatal(err)
	}
	page, err := replace([]byte("before\n"+begin+"old\n"+end+"after\n"), m.String())
	if err != nil {
		t.Fatal(err)
	}

	rest := string(page)
	for _, want := range []string{"before\n", "\n| check | 1 min 15 s |\n", "\n| parity | to be measured |\n",
		"\n| test/all | check | 1 min 10 s |\n", "\n| job | 9 s |\n", "\nafter\n"} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Errorf("no %q where it belongs in\n%s", want, page)
		}
		rest = after
	}
	if strings.Contains(string(page), "old") || strings.Contains(string(page), "podgc") {
		t.Errorf("it has what nobody measured:\n%s", page)
	}
}

func TestNothingIsTakenFromFailures(t *testing.T) {
	for said, want := range map[string]string{
		"": "nothing was tested",
		strings.ReplaceAll(said, `"pass","Package":"github.com/windlass-dev/windlass/test/all","Elapsed"`,
			`"fail","Package":"github.com/windlass-dev/windlass/test/all","Elapsed"`): "failed",
	} {
		m := &measured{controllers: map[string]float64{}}
		if err := m.addOutput("check", []byte(said), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := replace([]byte("no place"), ""); err == nil {
		t.Error("a page without a place for it is written")
	}
}
