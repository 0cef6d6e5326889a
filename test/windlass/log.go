package windlass

import (
	"bytes"
	"flag"
	"io"
	"strings"
	"sync"
	"testing"

	"k8s.io/klog/v2"
)

// Log is what was logged.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write is for klog.
func (r *Log) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(b)
}

// With returns the first line that has all the parts.
func (r *Log) With(parts ...string) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
next:
	for line := range strings.Lines(r.text.String()) {
		for _, p := range parts {
			if !strings.Contains(line, p) {
				continue next
			}
		}
		return line, true
	}
	return "", false
}

// Text returns all of it.
func (r *Log) Text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// RecordLog has klog write to a log of the test's until the test is over.
func RecordLog(t testing.TB) *Log {
	t.Helper()
	r := &Log{}
	LogTo(t, r)
	return r
}

// LogTo has klog write to w until the test is over.
func LogTo(t testing.TB, w io.Writer) {
	t.Helper()
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	set := func(name, value string) {
		if err := flags.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	state := klog.CaptureState()
	set("logtostderr", "false")
	set("stderrthreshold", "FATAL")
	set("one_output", "true")
	klog.SetOutput(w)
	t.Cleanup(func() {
		klog.Flush()
		state.Restore()
	})
}
