package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/bench/figure"
	"github.com/windlass-dev/windlass/bench/report"
	"github.com/windlass-dev/windlass/bench/scenario"
)

// What goes wrong says what to do, before anything is started.
func TestErrors(t *testing.T) {
	for want, args := range map[string][]string{
		`no scenario "fly": see -list`:  {"-scenarios", "scale, fly"},
		`unexpected argument "scale"`:   {"scale"},
		"-pairs 0":                      {"-pairs", "0"},
		"-more -1m0s: it must not be":   {"-more", "-1m"},
		"-from: open /nowhere.json: no": {"-from", "/nowhere.json"},
	} {
		if err := run(t.Context(), args, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
}

// -list names every scenario of the form; -scenarios chooses in the order given.
func TestChoose(t *testing.T) {
	var short, full bytes.Buffer
	for out, args := range map[*bytes.Buffer][]string{&short: {"-list"}, &full: {"-list", "-full"}} {
		if err := run(t.Context(), args, out); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(full.String(), "growth-100000") || strings.Contains(short.String(), "growth") ||
		!strings.Contains(short.String(), "4 Deployments 0 → 50 → 0") {
		t.Errorf("short:\n%s\nfull:\n%s", &short, &full)
	}
	all, err := chooseScenarios("scale, idle-empty", false)
	if err != nil || len(all) != 2 || all[0].Name != "scale" || all[1].Name != "idle-empty" {
		t.Errorf("got %v, %v", all, err)
	}
}

// What -raw has kept, -from reports again.
func TestFrom(t *testing.T) {
	dir := t.TempDir()
	raw := filepath.Join(dir, "raw.json")
	b, err := json.Marshal(report.Report{Scenarios: []report.Scenario{{Name: "scale", Title: "some work",
		Native: []figure.Set{{figure.CPU: 2}}, Windlass: []figure.Set{{figure.CPU: 1}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(raw, b, 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-from", raw, "-results", dir}, &out); err != nil {
		t.Fatal(err)
	}
	results, err := os.ReadFile(filepath.Join(dir, "RESULTS.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "scale: some work") ||
		!strings.Contains(string(results), "| scale: CPU | 0.50 | 1.00 | holds |") {
		t.Errorf("%s\n%s", &out, results)
	}
}

// A summary of a profile has what tells something, shortened, with its share.
func TestSummary(t *testing.T) {
	got := summary([]byte(`Duration: 25.54s, Total samples = 1.25s ( 4.89%)
      flat  flat%   sum%        cum   cum%
         0     0%     0%      0.30s 24.00%  sync.(*WaitGroup).Go.func1
         0     0%     0%      0.24s 19.20%  github.com/windlass-dev/windlass/host/controller.(*worker).next
         0     0%     0%      0.21s 16.80%  github.com/windlass-dev/windlass/host/controller.(*worker).sync
         0     0%     0%      0.19s 15.20%  github.com/windlass-dev/windlass/host/manager.(*router).OnEvent
     0.08s  6.40%  9.60%      0.08s  6.40%  runtime._ExternalCode
     0.01s  0.80%  9.60%      0.07s  5.60%  golang.org/x/net/http2.(*ClientConn).readLoop (inline)
     0.01s  0.80%  9.60%      0.07s  5.50%  github.com/windlass-dev/windlass/host/views.(*Plan).walk
`), 3)
	want := " 16.80%  host/controller.(*worker).sync\n  6.40%  runtime._ExternalCode\n  5.60%  http2.(*ClientConn).readLoop\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// An interrupted run is taken up where the setting is the same: neither a complete one is, nor one of other programs,
// nor what isn't asked for.
func TestInterrupted(t *testing.T) {
	all, err := chooseScenarios("scale,job,hpa", false)
	if err != nil {
		t.Fatal(err)
	}

	now := report.Report{Setting: report.Setting{Time: time.Unix(2000, 0).UTC(), Programs: "a", Pairs: 3, Load: 1}}
	of := func(programs string, names ...string) report.Report {
		r := report.Report{Setting: now.Setting}
		r.Setting.Time, r.Setting.Load, r.Setting.Programs = time.Unix(1000, 0).UTC(), 2, programs
		for _, n := range names {
			title := ""
			if i := slices.IndexFunc(all, func(s *scenario.Scenario) bool { return s.Name == n }); i >= 0 {
				title = all[i].Title(false)
			}
			r.Scenarios = append(r.Scenarios, report.Scenario{Name: n, Title: title})
		}
		return r
	}

	sizes := of("a", "job")
	sizes.Scenarios[0].Title = "another size"
	for name, c := range map[string]struct {
		last report.Report
		want string
	}{
		"other sizes":    {sizes, ""},
		"interrupted":    {of("a", "job", "cascade"), "job"},
		"complete":       {of("a", "scale", "job", "hpa"), ""},
		"other programs": {of("b", "job"), ""},
		"other work":     {of("a", "cascade"), ""},
	} {
		raw := filepath.Join(t.TempDir(), "raw.json")
		if err := c.last.Save(raw); err != nil {
			t.Fatal(err)
		}
		got, err := interrupted(now, raw, all)
		var names []string
		for _, s := range got.Scenarios {
			names = append(names, s.Name)
		}
		if err != nil || strings.Join(names, " ") != c.want {
			t.Errorf("%s: got %q, %v; want %q", name, names, err, c.want)
		}
		if want := (c.want != ""); (len(got.Setting.Continued) == 1) != want ||
			got.Setting.Time.Equal(now.Setting.Time) == want {
			t.Errorf("%s: got the setting %+v", name, got.Setting)
		}
	}

	if got, err := interrupted(now, filepath.Join(t.TempDir(), "none"), all); err != nil || got.Scenarios != nil {
		t.Errorf("without a file: got %+v, %v", got, err)
	}
	if _, err := interrupted(now, "", all); err == nil || !strings.Contains(err.Error(), "-raw must name") {
		t.Errorf("without -raw: got %v", err)
	}
}
