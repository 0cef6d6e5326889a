package plugintest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/sdk/plugintest/pipe"
	"github.com/windlass-dev/windlass/sdk/plugintest/watchdog"
)

// session is one job that windlass does around the plugin.
type session struct {
	t        *testing.T
	plugin   *sdk.Plugin
	settings *sdk.Settings
	conn     pipe.Conn
}

// turn is held by the test whose session runs: sdk.Helpers is one for all. lost is that a sync doesn't end: no other
// one can run beside it.
var (
	turn sync.Mutex
	lost error
)

// runWindlass starts windlass and answers it until the job is done.
func runWindlass(t *testing.T, p *sdk.Plugin, q pipe.Request) (*pipe.Response, error) {
	t.Helper()
	visitInputs(q)
	turn.Lock()
	defer turn.Unlock()
	if lost != nil {
		return nil, fmt.Errorf("not run, for something before it hasn't ended: %w", lost)
	}
	binary, err := windlass()
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	c := exec.CommandContext(ctx, binary, "plugin", "simulate")
	var said bytes.Buffer
	c.Stderr = &said
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", binary, err)
	}
	s := &session{t: t, plugin: p, conn: pipe.Conn{R: out, W: in}}
	before := sdk.Helpers
	sdk.Helpers = s.callHelper
	defer func() { sdk.Helpers = before }()
	r, err := s.serveJob(q)
	_ = in.Close()
	if loops := (*watchdog.LoopError)(nil); errors.As(err, &loops) {
		lost = fmt.Errorf("%s: %w", t.Name(), err)
		end() // it waits for the answer
		_ = c.Wait()

		return nil, err
	}
	ended := c.Wait()
	if err != nil && !s.wasTold(err) {
		return nil, fmt.Errorf("%s: %w (%v): %s", binary, err, ended, strings.TrimSpace(said.String()))
	}
	return r, err
}

// toldError is what windlass says about the job.
type toldError struct{ text string }

func (e *toldError) Error() string { return e.text }

func (s *session) wasTold(err error) bool {
	var t *toldError
	return errors.As(err, &t)
}

func (s *session) serveJob(q pipe.Request) (*pipe.Response, error) {
	if err := s.conn.SendJSON(pipe.Job, q); err != nil {
		return nil, err
	}
	if err := s.conn.Send(pipe.Manifest, abi.AppendManifest(nil, s.plugin.Manifest())); err != nil {
		return nil, err
	}

	for {
		t, b, err := s.conn.Receive()
		if err != nil {
			return nil, err
		}

		switch t {
		case pipe.Configure:
			err = s.configure(b)
		case pipe.Sync:
			err = s.answerSync(b, func(f func()) { f() })
		case pipe.Elsewhen:
			err = s.answerSync(b, func(f func()) {
				synctest.Test(s.t, func(*testing.T) { f() }) // where it is the year 2000
			})
		case pipe.Result:
			r := &pipe.Response{}
			return r, json.Unmarshal(b, r)
		case pipe.Error:
			return nil, &toldError{string(b)}
		default:
			return nil, fmt.Errorf("got a frame %q", t)
		}

		if err != nil {
			return nil, err
		}
	}
}

func (s *session) configure(b []byte) error {
	s.settings = &sdk.Settings{}
	if err := abi.DecodeSettings(b, s.settings); err != nil {
		return err
	}
	var against error
	err := watchdog.Run(func(here func()) {
		here()
		against = s.plugin.Refused(s.settings)
	})
	switch {
	case err != nil:
		return fmt.Errorf("the plugin's Check: %w", err)
	case against != nil:
		return s.conn.Send(pipe.Done, []byte(against.Error()))
	}

	return s.conn.Send(pipe.Done, nil)
}

// answerSync runs the sync that is asked for, by in.
func (s *session) answerSync(b []byte, in func(func())) error {
	var r abi.SyncRequest
	if err := abi.DecodeRequest(b, &r); err != nil {
		return err
	}

	var a *abi.SyncResponse
	var failed string
	err := watchdog.Run(func(here func()) {
		in(func() {
			here()
			a, failed = s.runRecovered(&r)
		})
	})
	switch {
	case err != nil:
		return fmt.Errorf("the sync of %s %s: %w",
			s.plugin.Controllers[r.Controller].Name, strings.TrimSpace(r.Key.String()), err)
	case failed != "":
		return s.conn.Send(pipe.Failed, []byte(failed))
	}

	return s.conn.Send(pipe.Answer, abi.AppendResponse(nil, a))
}

// runRecovered runs the sync; a panic's text comes with the places in the plugin where it happened.
func (s *session) runRecovered(r *abi.SyncRequest) (a *abi.SyncResponse, failed string) {
	defer func() {
		if p := recover(); p != nil {
			failed = fmt.Sprintf("panic: %v\n%s", p, strings.Join(panicPlaces(debug.Stack()), "\n"))
		}
	}()

	return sdk.Run(s.plugin, r, s.settings, s.perform), ""
}

func (s *session) perform(r *abi.PerformRequest) (*abi.PerformResponse, error) {
	if err := s.conn.Send(pipe.Perform, abi.AppendPerform(nil, r)); err != nil {
		return nil, err
	}
	t, b, err := s.conn.Receive()
	if err != nil {
		return nil, err
	}
	if t == pipe.Refused {
		return nil, errors.New(string(b))
	}
	a := &abi.PerformResponse{}
	return a, abi.DecodePerformed(b, a)
}

// callHelper calls a pure function of the host's.
func (s *session) callHelper(name string, argument []byte) []byte {
	if err := s.conn.Send(pipe.Helper, append([]byte(name+"\n"), argument...)); err != nil {
		return append([]byte{1}, err.Error()...)
	}
	b, err := s.conn.Expect(pipe.Helped)
	if err != nil {
		return append([]byte{1}, err.Error()...)
	}
	return b
}

// panicPlaces returns the lines of a panic's stack that are between the panic and the SDK's Run.
func panicPlaces(stack []byte) (out []string) {
	lines := strings.Split(string(stack), "\n")
	from := 0
	for i, l := range lines {
		if strings.HasPrefix(l, "panic(") {
			from = i + 2
		}
	}
	for i := from; i+1 < len(lines); i += 2 {
		if strings.HasPrefix(lines[i], "github.com/windlass-dev/windlass/sdk.Run(") {
			break
		}
		function, _, _ := strings.Cut(lines[i], "(")
		where, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " +0x")
		if strings.HasPrefix(function, "runtime.") {
			continue
		}
		out = append(out, where+" "+lines[i][:max(strings.LastIndex(lines[i], "("), 0)])
	}
	return out
}

// windlass finds the program.
func windlass() (string, error) {
	if named := os.Getenv("WINDLASS"); named != "" {
		if _, err := os.Stat(named); err != nil {
			return "", fmt.Errorf("$WINDLASS: %w: set it to the windlass program", err)
		}
		return named, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for up := dir; ; up = filepath.Dir(up) {
		if built := filepath.Join(up, "_output", "windlass"); executable(built) {
			return built, nil
		}
		if up == filepath.Dir(up) {
			break
		}
	}
	if found, err := exec.LookPath("windlass"); err == nil {
		return found, nil
	}
	return "", errors.New("tests of plugins run in a cluster that the windlass program simulates, and there is none: " +
		"put windlass on the PATH, or set $WINDLASS to it")
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
