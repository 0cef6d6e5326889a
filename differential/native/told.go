package native

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// withErrors returns a context whose logger keeps nothing of what a controller logs but its last error: several of
// upstream's say only there why a sync has failed, as long as it is tried again.
func withErrors(ctx context.Context) context.Context {
	return klog.NewContext(ctx, logr.New(errorsOnly{}))
}

type errorsOnly struct{}

func (errorsOnly) Init(logr.RuntimeInfo)               {}
func (errorsOnly) Enabled(level int) bool              { return level <= 2 }
func (s errorsOnly) WithValues(...any) logr.LogSink    { return s }
func (s errorsOnly) WithName(string) logr.LogSink      { return s }
func (errorsOnly) Error(err error, _ string, _ ...any) { note(err) }
func (errorsOnly) Info(_ int, _ string, keyValues ...any) {
	for i := 0; i+1 < len(keyValues); i += 2 {
		if err, ok := keyValues[i+1].(error); ok {
			note(err)
		}
	}
}

func note(err error) {
	if err != nil {
		lastError.Store(&err)
	}
}
