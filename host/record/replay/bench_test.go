package replay_test

import (
	"context"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/sandbox"
)

// BenchmarkSync is a sync of a deployment that is gone, the smallest there is, in the sandbox: with a recorder and
// without one.
func BenchmarkSync(b *testing.B) {
	p, err := plugins.Named("builtin:deployment")
	if err != nil {
		b.Fatal(err)
	}

	l, err := plugins.Open(b.Context(), p, sandbox.Options{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close(context.WithoutCancel(b.Context()))
	r := &abi.SyncRequest{Key: abi.KeyRef{Namespace: "default", Name: "gone"}, Now: 1e18}
	for i := range l.Manifest.Controllers[0].Views {
		r.Views = append(r.Views, abi.ViewData{View: int32(i)})
	}

	source := &record.Source{Plugin: p.Name, Manifest: l.Manifest}
	for name, recorder := range map[string]*record.Recorder{"recorded": record.NewRing("c", 0).Recorder(source),
		"not recorded": nil} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				rec := recorder.Begin(r.Key, time.Now())
				call := &sandbox.Call{Size: abi.SizeRequest(r), Write: func(m []byte) { rec.Request(abi.AppendRequest(m[:0], r)) }}
				if _, err := l.Module.Sync(b.Context(), call, func(a []byte) error { rec.Answered(a); return nil }); err != nil {
					b.Fatal(err)
				}
				rec.End("ok", nil)
			}
		})
	}
}
