package replay

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/record/replay"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/module"
	"github.com/windlass-dev/windlass/test/windlass"
)

// A plugin that reads a real Secret, spreads its value, logs it and fails has its recording saved by itself, and the
// value is nowhere in it: the sync is marked, and not run again. Nor is it in the log, in what is shown of a shadow's
// differences, or in explanations.
func TestNoSecretInSavedRecordings(t *testing.T) {
	folder, saved := t.TempDir(), filepath.Join(t.TempDir(), "recordings")
	wasm := filepath.Join(folder, "secretive.wasm")
	module.Build(t, wasm, "test/replay/testdata/secretive")
	// A shadow that spreads it in another way.
	spreads, err := os.ReadFile(wasm)
	if err != nil {
		t.Fatal(err)
	}

	shadow := filepath.Join(t.TempDir(), "shadow.wasm")
	if err := os.WriteFile(shadow, bytes.Replace(spreads, []byte("it is "), []byte("it Is "), 1), 0o600); err != nil {
		t.Fatal(err)
	}

	log := windlass.RecordLog(t)
	c := cluster.Start(t, cluster.Options{})
	// It runs as an administrator, for upstream's roles give no controller what it does here.
	m := windlass.Start(t, c, windlass.Options{Controllers: []string{"secretive-controller"},
		Configure: func(k *config.Configuration) {
			k.PluginFolder = folder
			k.ClientConnection.Kubeconfig, k.UseServiceAccountCredentials = c.Kubeconfig, false
			k.Recordings.Folder = saved
			k.Plugins = []config.Plugin{{Name: "secretive", Shadow: shadow}}
		}})

	client := c.Client()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s", Labels: map[string]string{"spread": "yes"}},
		Data: map[string][]byte{"password": []byte(password)}}
	if _, err := client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	var files []string
	cluster.Eventually(t, time.Minute, "a recording is saved", func() (bool, string) {
		files, _ = filepath.Glob(filepath.Join(saved, "*"+record.Extension))
		return len(files) > 0, ""
	})

	// Later syncs get the state that the first one kept.
	cluster.Eventually(t, time.Minute, "it is synced again", func() (bool, string) {
		n := m.Count(t, "windlass_syncs_total", "controller", "secretive-controller", "result", "error")
		return n >= 3, fmt.Sprint(n)
	})

	encoded := base64.StdEncoding.EncodeToString([]byte(password))
	copies, err := client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(copies.Items) == 0 || copies.Items[len(copies.Items)-1].Data["copy"] != "it is "+password {
		t.Fatalf("the plugin has spread nothing: %v %v", err, copies)
	}

	cluster.Eventually(t, time.Minute, "the shadow differs", func() (bool, string) {
		s := string(m.Get(t, "/windlass/v1/differences"))
		return strings.Contains(s, "it Is "), s
	})
	for what, text := range map[string]string{
		"an explanation": string(m.Get(t, "/debug/explain?resource=configmap&namespace=default&name="+
			copies.Items[len(copies.Items)-1].Name)),
		"a difference": string(m.Get(t, "/windlass/v1/differences")),
		"the status":   string(m.Get(t, "/windlass/v1/status")),
	} {
		if strings.Contains(text, password) || strings.Contains(text, encoded) {
			t.Errorf("%s has the secret: %s", what, text)
		}
		if what == "an explanation" && !strings.Contains(text, "the password is ***") {
			t.Errorf("%s doesn't say how the sync ended: %s", what, text)
		}
	}

	for _, said := range []string{"I have read ***", "the password is ***", "it Is ***"} {
		if _, ok := log.With(said); !ok {
			t.Errorf("the log doesn't say %q", said)
		}
	}

	for _, value := range []string{password, encoded} {
		if line, ok := log.With(value); ok {
			t.Errorf("the log has the secret: %s", line)
		}
	}

	asked := filepath.Join(t.TempDir(), "asked"+record.Extension)
	if err := record.WriteFile(asked, m.Get(t, "/debug/recordings/secretive-controller")); err != nil {
		t.Fatal(err)
	}

	m.Stop(t)
	p, err := plugins.Named(wasm)
	if err != nil {
		t.Fatal(err)
	}

	for _, path := range append(files, asked) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range []string{password, base64.StdEncoding.EncodeToString([]byte(password))} {
			if i := bytes.Index(b, []byte(value)); i >= 0 {
				t.Errorf("%s has the secret at byte %d", path, i)
			}
		}
		f, err := record.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		spread := 0
		err = replay.Run(t.Context(), f, replay.Options{Plugin: p}, func(r replay.Result) {
			switch s := f.Syncs[r.Number-1]; {
			case s.Result == "error":
				spread++
				if r.Verdict != replay.Skipped || !s.Redacted {
					t.Errorf("a sync that saw the secret is %s, redacted: %v", r.Verdict, s.Redacted)
				}
			case r.Verdict == replay.Different:
				t.Errorf("sync %d differs: %s", r.Number, r.Diff)
			}
		})
		if err != nil || spread == 0 {
			t.Errorf("%v; %d syncs saw the secret", err, spread)
		}
	}
}
