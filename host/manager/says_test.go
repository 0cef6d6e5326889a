package manager

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/record"
)

// What a plugin says while it is configured has nothing of the files that it was given, certificates aside.
func TestStartupIsVeiled(t *testing.T) {
	const key = "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n"
	manifest := &abi.Manifest{Name: "p", Settings: []abi.Setting{{Name: "key", File: true}}}
	s := &record.Source{Manifest: manifest}
	s.SetSettings([]string{key})
	c := &choice{Found: plugins.Found{Plugin: &plugins.Plugin{Name: "p", Digest: "sha256:0123456789abcdef"},
		Manifest: manifest}}
	state := klog.CaptureState()
	defer state.Restore()
	var log bytes.Buffer
	klog.LogToStderr(false)
	klog.SetOutput(&log)
	say := guestLogger(c, s)
	say(0, "the key is "+key)
	say(0, "the key is "+base64.StdEncoding.EncodeToString([]byte(key)))
	klog.Flush()
	text := log.String()
	if strings.Count(text, "the key is ***") != 2 || strings.Contains(text, "hunter2") ||
		!strings.Contains(text, `plugin="p" digest="0123456789ab"`) {
		t.Errorf("the log says %s", text)
	}
}
