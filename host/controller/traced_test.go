package controller

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/syncer"
	"github.com/windlass-dev/windlass/host/tracing"
	"github.com/windlass-dev/windlass/host/tracing/tracingtest"
)

// A sync's span tells how long its key has waited, what has held it back, and in the host's words why it failed.
func TestTracedWaits(t *testing.T) {
	r, tracer := tracingtest.Start(t), &tracing.Tracer{}
	on := &config.Tracing{Endpoint: r.Address, SamplingRatePerMillion: 1_000_000}
	if err := tracer.Configure(on); err != nil {
		t.Fatal(err)
	}
	v := &Version{Target: syncer.Target{Plugin: "p", Manifest: &abi.Controller{Name: "c"}},
		Digest: "sha256:0123456789abcdef"}
	c := New(Options{Tracer: tracer}, v)
	defer c.queue.ShutDown()
	k := Key{Namespace: "n", Name: "k"}
	turn := func() {
		t.Helper()
		c.enqueue(k, 0)
		if got, _ := c.queue.Get(); got != k {
			t.Fatalf("got %v", got)
		}
		c.queue.Done(k)
	}
	for range holdsMost + 3 {
		turn()
		c.waits.noteHold(k, "parked", abi.Resource{Version: "v1", Name: "pods"})
	}
	turn()
	wrong := errors.New("the password is hunter2")
	for _, err := range []error{
		&sandbox.CallError{Kind: sandbox.ErrDeadline, Cause: wrong},
		&effects.Error{Request: "update v1/secrets n/hunter2", Reason: "Conflict", Err: wrong},
		wrong,
	} {
		_, span := c.startSpan(t.Context(), v, k)
		finished(span, &Sync{Result: "error"}, err)
	}
	tracer.Close()

	roots := r.Roots()
	if len(roots) != 3 {
		t.Fatalf("received %v", roots)
	}
	for i, want := range []string{"error: deadline exceeded", "error: Conflict", "error"} {
		x := roots[i]
		if x.Text("windlass.controller") != "c" || x.Text("windlass.plugin") != "p" || x.Text("windlass.key") != "n/k" ||
			x.Text("windlass.plugin.digest") != v.Digest {
			t.Errorf("sync %d is %v", i, x)
		}
		if x.Status.Code != tracepb.Status_STATUS_CODE_ERROR || x.Status.Message != want {
			t.Errorf("sync %d ended with %v, want %s", i, x.Status, want)
		}
		if x.Has("windlass.queue.seconds") != (i == 0) { // the others had no turn
			t.Errorf("sync %d says how long it waited: %v", i, x)
		}
	}
	if all := roots[0].Events; len(all) != holdsMost || all[0].Name != "parked" ||
		all[0].Attributes[0].Value.GetStringValue() != "v1/pods" || all[0].TimeUnixNano > roots[0].StartTimeUnixNano {
		t.Errorf("the first one's events are %v", all)
	}
	if len(roots[1].Events) > 0 {
		t.Errorf("the second one's events are %v", roots[1].Events)
	}
	if bytes.Contains(r.Received(), []byte("hunter2")) {
		t.Error("an error's text is in a span")
	}

	// Nothing is remembered once nothing is traced.
	if err := tracer.Configure(on); err != nil {
		t.Fatal(err)
	}
	c.enqueue(Key{Name: "other"}, 0)
	tracer.Close()
	c.enqueue(Key{Name: "another"}, 0)
	if n := len(c.waits.keys); n != 0 {
		t.Errorf("%d keys are remembered", n)
	}
}

// A controller whose syncs aren't traced allocates nothing for it.
func TestUntracedAllocations(t *testing.T) {
	v := &Version{Target: syncer.Target{Manifest: &abi.Controller{Name: "c"}}}
	k := Key{Namespace: "n", Name: "k"}
	for name, tracer := range map[string]*tracing.Tracer{"no tracer": nil, "not configured": {}} {
		c := New(Options{Tracer: tracer}, v)
		defer c.queue.ShutDown()
		s, err := &Sync{Result: "error"}, fmt.Errorf("failed")
		if n := testing.AllocsPerRun(1000, func() {
			c.waits.noteHold(k, "parked", abi.Resource{Version: "v1", Name: "pods"})
			_, root := c.startSpan(t.Context(), v, k)
			finished(root, s, err)
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
