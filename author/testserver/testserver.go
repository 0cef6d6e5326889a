// Package testserver serves tests that run a controller in their own process.
package testserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/author/check"
	"github.com/windlass-dev/windlass/author/generate"
	"github.com/windlass-dev/windlass/author/guest"
	"github.com/windlass-dev/windlass/host/plugins/module"
	"github.com/windlass-dev/windlass/sdk/plugintest/pipe"
)

// Serve does one job of the test at the other end.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g := &piped{conn: &pipe.Conn{R: in, W: out}, gone: cancel}
	b, err := g.conn.Expect(pipe.Job)
	if err != nil {
		return fmt.Errorf("this command is for tests, which sdk/plugintest runs it for: %w", err)
	}
	var q pipe.Request
	if err := json.Unmarshal(b, &q); err != nil {
		return err
	}
	if b, err = g.conn.Expect(pipe.Manifest); err != nil {
		return err
	}
	if g.manifest, err = abi.DecodeManifest(b); err != nil {
		return g.conn.Send(pipe.Error, []byte("the plugin's manifest: "+err.Error()))
	}

	if q.Do == "cases" || q.Do == "explore" { // once for all cases
		if err := generate.UpToDate(ctx, "."); err != nil {
			return g.conn.Send(pipe.Error, []byte(err.Error()))
		}
	}
	result, err := check.Do(ctx, g, q)
	if g.broken != nil {
		return g.broken // the test is gone
	}
	if err != nil {
		return g.conn.Send(pipe.Error, []byte(err.Error()))
	}
	return g.conn.SendJSON(pipe.Result, result)
}

// piped is a plugin at the other end of the pipe.
type piped struct {
	conn     *pipe.Conn
	manifest *abi.Manifest
	broken   error  // of the pipe
	gone     func() // is called then: there is nobody to simulate for
}

func (g *piped) Manifest() *abi.Manifest { return g.manifest }

func (g *piped) Configure(s *abi.Settings) error {
	if err := g.conn.Send(pipe.Configure, abi.AppendSettings(nil, s)); err != nil {
		return g.breakPipe(err)
	}
	b, err := g.conn.Expect(pipe.Done)
	if err != nil {
		return g.breakPipe(err)
	}
	if len(b) > 0 {
		return fmt.Errorf("plugin %q refuses its settings: %s", g.manifest.Name, b)
	}
	return nil
}

func (g *piped) breakPipe(err error) error {
	g.broken = fmt.Errorf("the test's end of the pipe: %w", err)
	g.gone()
	return g.broken
}

func (g *piped) Sync(request []byte, perform guest.Perform) ([]byte, guest.Stats, error) {
	return g.sync(pipe.Sync, request, perform)
}

// SyncElsewhen is Sync under another time of the test's process.
func (g *piped) SyncElsewhen(request []byte, perform guest.Perform) ([]byte, guest.Stats, error) {
	return g.sync(pipe.Elsewhen, request, perform)
}

func (g *piped) sync(t pipe.Type, request []byte, perform guest.Perform) (answer []byte, stats guest.Stats, err error) {
	if err := g.conn.Send(t, request); err != nil {
		return nil, stats, g.breakPipe(err)
	}
	var refused error
	for {
		t, b, err := g.conn.Receive()
		if err != nil {
			return nil, stats, g.breakPipe(err)
		}
		switch t {
		case pipe.Answer:
			return b, stats, refused
		case pipe.Failed:
			return nil, stats, errors.Join(refused, errors.New(string(b)))
		case pipe.Perform:
			out, err := perform(b)
			if err != nil {
				refused = err
				err = g.conn.Send(pipe.Refused, []byte(err.Error()))
			} else {
				err = g.conn.Send(pipe.Outcome, out)
			}
			if err != nil {
				return nil, stats, g.breakPipe(err)
			}

		case pipe.Helper:
			if err := g.conn.Send(pipe.Helped, callHelper(b)); err != nil {
				return nil, stats, g.breakPipe(err)
			}
		default:
			return nil, stats, g.breakPipe(fmt.Errorf("got a frame %q in the middle of a sync", t))
		}
	}
}

// callHelper calls a pure function of the host's.
func callHelper(b []byte) []byte {
	for i, c := range b {
		if c != '\n' {
			continue
		}
		if f := module.Helpers[string(b[:i])]; f != nil {
			return f(b[i+1:])
		}
		return []byte("\x01no helper " + string(b[:i]))
	}
	return []byte("\x01no helper is named")
}
