// Package logs reads all that a process logs, in both formats.
package logs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/module"
	"github.com/windlass-dev/windlass/test/windlass"
)

const password = "correct-horse-battery-staple"

// header begins a line of klog's: severity, day, time, thread, file and line.
var header = regexp.MustCompile(`^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ [\w.-]+:\d+\] "`)

// Each line of a whole run's log is one of its format, with kube-controller-manager's fields; a plugin's own lines say
// whose they are; and none has a secret.
func TestFormats(t *testing.T) {
	folder := t.TempDir()
	module.Build(t, filepath.Join(folder, "secretive.wasm"), "test/replay/testdata/secretive")
	c := cluster.Start(t, cluster.Options{})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s", Labels: map[string]string{"spread": "yes"}},
		Data: map[string][]byte{"password": []byte(password)}}
	if _, err := c.Client().CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	// upstream's roles give no controller what secretive does here
	if err := os.WriteFile(c.ManagerKubeconfig, must(os.ReadFile(c.Kubeconfig)), 0o600); err != nil {
		t.Fatal(err)
	}

	log := filepath.Join(c.Dir, "windlass.log")
	for format, read := range map[string]func(t *testing.T, b []byte){"json": readJSON, "text": readText} {
		t.Run(format, func(t *testing.T) {
			if err := os.WriteFile(log, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			p := windlass.SpawnWith(t, c,
				fmt.Sprintf("logging: {format: %s, verbosity: 4}\npluginFolder: %s\nplugins: [{name: secretive, impersonate: {user: admin, groups: [\"system:masters\"]}}]\n", format, folder),
				"*", "secretive-controller")
			p.AwaitReady(t)
			cluster.Eventually(t, time.Minute, "the plugin's syncs fail", func() (bool, string) {
				n := p.Count(t, "windlass_syncs_total", "controller", "secretive-controller", "result", "error")
				return n >= 2, fmt.Sprint(n)
			})
			p.Stop(t)
			b := must(os.ReadFile(log))
			if i := bytes.Index(b, []byte(password)); i >= 0 {
				t.Errorf("the log has the secret: …%s…", b[max(0, i-200):i])
			}
			read(t, b)
		})
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func readJSON(t *testing.T, b []byte) {
	lines, said, failed, detailed := 0, 0, 0, 0
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); lines++ {
		var line map[string]any
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			t.Fatalf("line %d: %v: %s", lines+1, err, s.Bytes())
		}
		ts, _ := line["ts"].(float64)
		caller, _ := line["caller"].(string)
		msg, _ := line["msg"].(string)
		v, info := line["v"].(float64)
		if now := float64(time.Now().UnixMilli()); ts < now-600_000 || ts > now || !strings.Contains(caller, ".go:") ||
			msg == "" {
			t.Errorf("line %d has not all of ts, caller and msg: %s", lines+1, s.Bytes())
		}
		if _, err := line["err"]; !info && !err && strings.Contains(msg, "fail") {
			t.Errorf("line %d has neither v nor err: %s", lines+1, s.Bytes())
		}
		if v >= 4 {
			detailed++
		}
		whose := func() {
			for field, want := range map[string]string{"plugin": "^secretive$", "controller": "^secretive-controller$",
				"key": "^default/s$", "digest": "^[0-9a-f]{12}$"} {
				if got, _ := line[field].(string); !regexp.MustCompile(want).MatchString(got) {
					t.Errorf("line %d: %s is %q, want %s: %s", lines+1, field, got, want, s.Bytes())
				}
			}
		}
		switch {
		case msg == "I have read ***":
			said++
			whose()
		case msg == "Sync failed, will retry" && line["controller"] == "secretive-controller":
			failed++
			whose()
			if text, _ := line["err"].(string); text != "the password is ***" {
				t.Errorf("line %d: err is %q", lines+1, text)
			}
		}
	}

	if lines < 20 || said < 2 || failed < 2 || detailed == 0 {
		t.Errorf("%d lines, of which %d are the plugin's, %d tell of its failures, %d have a verbosity of 4", lines, said,
			failed, detailed)
	}
}

func readText(t *testing.T, b []byte) {
	lines, said := 0, 0
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); lines++ {
		line := s.Text()
		if !header.MatchString(line) && !continued(line) {
			t.Errorf("line %d is not klog's: %s", lines+1, line)
		}
		if strings.Contains(line, `"I have read ***"`) {
			said++
			const end = `controller="secretive-controller" plugin="secretive" digest="[0-9a-f]{12}" key="default/s"$`
			if !regexp.MustCompile(end).MatchString(line) {
				t.Errorf("line %d doesn't say whose it is: %s", lines+1, line)
			}
		}
	}
	if lines < 20 || said < 2 {
		t.Errorf("%d lines, of which %d are the plugin's", lines, said)
	}
}

// continued reports a line of a value that has several: klog begins each with a tab, and ends them with " >".
func continued(line string) bool {
	return strings.HasPrefix(line, "\t") || strings.HasPrefix(line, " >")
}
