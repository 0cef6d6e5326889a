package controller

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"k8s.io/klog/v2/textlogger"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/syncer"
)

// What syncs fail with is the plugin's to say, and how often: of that no more is logged than a plugin may log.
func TestErrorsAreBounded(t *testing.T) {
	var logged bytes.Buffer
	c := &Controller{log: textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&logged)))}
	v := &Version{Target: syncer.Target{Plugin: "p", Manifest: &abi.Controller{Name: "c"}}, Digest: "sha256:0",
		Logs: sandbox.NewLogs(1)}
	long := errors.New(strings.Repeat("A", 8<<10))
	for range 10_000 {
		c.logFailure(v, Key{Name: "k"}, long, "Sync failed, will retry", "result", syncer.Error)
	}
	if logged.Len() == 0 || logged.Len() > 2<<20 || v.Logs.Dropped() < 50<<20 {
		t.Errorf("%d bytes logged, %d dropped", logged.Len(), v.Logs.Dropped())
	}

	v.Logs = nil
	logged.Reset()
	c.logFailure(v, Key{Name: "k"}, long, "Sync failed, will retry", "result", syncer.Error)
	if logged.Len() < 8<<10 {
		t.Errorf("%d bytes without a bound", logged.Len())
	}
}

// No key is woken that has a secret in its name: names of keys are logged.
func TestSecretsAreNoKeys(t *testing.T) {
	m := &abi.Manifest{Name: "p", Settings: []abi.Setting{{Name: "token-file", File: true}},
		Controllers: []abi.Controller{{Name: "c"}}}
	secrets := &record.Source{Manifest: m}
	secrets.SetSettings([]string{"correct horse"})
	w := newWorker(&Controller{})
	w.version = &Version{Target: syncer.Target{Plugin: "p", Manifest: &m.Controllers[0]}}
	if w.veil = record.NewVeil(secrets); w.veil == nil {
		t.Fatal("nothing is veiled")
	}

	wake := func(k abi.KeyRef) []abi.Effect {
		e := abi.Effect{Kind: abi.EffectWake, Wake: &abi.Wake{Key: k}}
		return []abi.Effect{{Kind: abi.EffectGroup, Members: []abi.Effect{e}}}
	}
	if err := w.refuse(wake(abi.KeyRef{Namespace: "shop", Name: "web"})); err != nil {
		t.Error(err)
	}
	for _, k := range []abi.KeyRef{{Name: "a correct horse"}, {Namespace: "correct horse", Name: "x"},
		{Name: base64.StdEncoding.EncodeToString([]byte("correct horse"))}} {
		err := w.refuse(wake(k))
		if !effects.Refused(err) || strings.Contains(err.Error(), "correct") ||
			!strings.Contains(err.Error(), "effect 0.0 (wake) refused") {
			t.Errorf("%s: %v", k, err)
		}
	}
}
