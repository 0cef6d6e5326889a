package author_test

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/cmd/windlass/answer/answertest"
	"github.com/windlass-dev/windlass/cmd/windlass/running/runningtest"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/record"
)

// absentRecording returns a recording of one sync, of a deployment that is gone: nothing was to be done.
func absentRecording(t *testing.T) *record.File {
	t.Helper()
	p, err := plugins.Named("builtin:deployment")
	if err != nil {
		t.Fatal(err)
	}
	i, err := plugins.Inspect(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	r := &abi.SyncRequest{Key: abi.KeyRef{Namespace: "shop", Name: "web"}, Now: 1}
	for n := range i.Manifest.Controllers[0].Views {
		r.Views = append(r.Views, abi.ViewData{View: int32(n)})
	}
	return &record.File{Controller: "deployment-controller", Saved: time.Now(),
		Sources: []record.Source{{Plugin: "deployment", Digest: p.Digest, Origin: p.String(), Manifest: i.Manifest}},
		Syncs: []record.Sync{{Key: r.Key, Start: time.Now(), Result: "ok", Request: abi.AppendRequest(nil, r),
			Answer: abi.AppendResponse(nil, &abi.SyncResponse{KeepState: true}), Answered: true}}}
}

func writeRecording(t *testing.T, f *record.File) string {
	t.Helper()
	b, err := f.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x"+record.Extension)
	if err := record.WriteFile(path, b); err != nil {
		t.Fatal(err)
	}
	return path
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0
}

// The exit code of replay is 0 where all is the same, 1 where something differs, 2 where it can't be told.
func TestReplay(t *testing.T) {
	same := writeRecording(t, absentRecording(t))
	f := absentRecording(t)
	f.Syncs[0].Answer = abi.AppendResponse(nil, &abi.SyncResponse{KeepState: true,
		Effects: []abi.Effect{{Kind: abi.EffectDelete, Resource: "v1/pods", Namespace: "shop", Name: "web-1", UID: "7"}}})
	different := writeRecording(t, f)
	f = absentRecording(t)
	f.Sources[0].Digest = "sha256:00"
	unknown := writeRecording(t, f)
	b, err := os.ReadFile(same)
	if err != nil {
		t.Fatal(err)
	}

	short := filepath.Join(t.TempDir(), "short")
	if err := os.WriteFile(short, b[:len(b)-3], 0o600); err != nil {
		t.Fatal(err)
	}

	for name, c := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"same":        {[]string{same}, 0, "deployment-controller: 1 same, 0 different, 0 skipped\n", ""},
		"interpreter": {[]string{same, "--engine=interpreter", "--controller=deployment"}, 0, "1 same", ""},
		"no such key": {[]string{same, "--key=shop/api"}, 0, "0 same", ""},
		"different": {[]string{different}, 1,
			"--- recorded\n+++ run again\n-effects:\n-- do: delete v1/pods shop/web-1\n-  with:\n-  - uid 7\n+nothing to do\n",
			""},
		"different, JSON": {[]string{different, "-o", "json"}, 1, `"verdict": "different"`, ""},
		"another module":  {[]string{unknown, "--plugin=builtin:deployment"}, 0, "1 same", ""},
		"unknown module": {[]string{unknown}, 2, "",
			"sha256:00, from builtin:deployment) isn't built into this windlass: name its file, or another version, with --plugin"},
		"damaged":          {[]string{short}, 2, "", "the recording is damaged at byte "},
		"no file":          {[]string{"/nowhere"}, 2, "", "open /nowhere: no such file"},
		"other controller": {[]string{same, "--controller=job"}, 2, "", "is of controller deployment-controller, not of job"},
		"bad engine":       {[]string{same, "--engine=steam"}, 2, "", `--engine "steam": must be compiler or interpreter`},
		"unknown flag":     {[]string{same, "--fly"}, 2, "", "unknown flag"},
		"no argument":      {nil, 2, "", "accepts 1 arg"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, stdout, stderr := answertest.Command(t, append([]string{"replay"}, c.args...)...)
			if code := exitCode(t, cmd.Run()); code != c.code || !strings.Contains(stdout.String(), c.stdout) ||
				!strings.Contains(stderr.String(), c.stderr) || c.stderr == "" && stderr.Len() > 0 {
				t.Errorf("code %d, want %d\n%s%s", code, c.code, stdout, stderr)
			}
		})
	}
}

// serveRecording serves what a windlass that runs here would, as far as record is concerned.
func serveRecording(t *testing.T) string {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/recordings/{controller}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("controller") != "deployment" {
			http.Error(w, "no controller runs here by that name", http.StatusNotFound)
			return
		}
		b, err := absentRecording(t).Append(nil)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(b)
	})
	return runningtest.Known(t, mux)
}

func TestRecordIsReplayed(t *testing.T) {
	server, path := serveRecording(t), filepath.Join(t.TempDir(), "saved")
	cmd, stdout, stderr := answertest.Command(t, "record", "deployment", "-o", path, "--server", server)
	if err := cmd.Run(); err != nil || !strings.HasPrefix(stdout.String(), path+": 1 syncs of deployment-controller, ") {
		t.Fatalf("%v: %s%s", err, stdout, stderr)
	}
	cmd, stdout, stderr = answertest.Command(t, "replay", path)
	if err := cmd.Run(); err != nil || !strings.Contains(stdout.String(), "1 same") {
		t.Errorf("%v: %s%s", err, stdout, stderr)
	}
	cmd, _, stderr = answertest.Command(t, "record", "job", "--server", server)
	if err := cmd.Run(); err == nil || !strings.Contains(stderr.String(), "no controller runs here by that name") {
		t.Errorf("%v: %s", err, stderr)
	}
}
