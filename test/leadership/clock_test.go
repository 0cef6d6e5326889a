package leadership

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/manager"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// clockVariable names the file that says by how much a process's wall clock is wrong. A process that has it is windlass
// run with that clock, for the machine's own isn't a test's to put.
const clockVariable = "WINDLASS_TEST_CLOCK"

func TestMain(m *testing.M) {
	if file := os.Getenv(clockVariable); file != "" {
		if err := runWithClock(&wallClock{file}, os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runWithClock is windlass run.
func runWithClock(w *wallClock, args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	config.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	c, err := config.FromFlags(flags)
	if err != nil {
		return err
	}
	return manager.Run(ctx, c, manager.Options{Wall: w.now})
}

// wallClock is a wall clock that a test puts.
type wallClock struct{ file string }

func newWallClock(t *testing.T) *wallClock {
	t.Helper()
	w := &wallClock{filepath.Join(t.TempDir(), "clock")}
	w.setOffset(t, 0)
	return w
}

// program is windlass with this clock.
func (w *wallClock) program(t *testing.T) (program string, env []string) {
	t.Helper()
	program, err := os.Executable()
	mustSucceed(t, err)
	return program, []string{clockVariable + "=" + w.file}
}

// setOffset has the clock differ from the machine's.
func (w *wallClock) setOffset(t *testing.T, by time.Duration) {
	t.Helper()
	next := w.file + ".next"
	mustSucceed(t, os.WriteFile(next, strconv.AppendInt(nil, int64(by), 10), 0o600))
	mustSucceed(t, os.Rename(next, w.file))
}

// now reads the file each time: a process that is woken sees it at once.
func (w *wallClock) now() time.Time {
	b, err := os.ReadFile(w.file)
	if err != nil {
		return time.Now()
	}
	by, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		panic(err) // the test wrote it
	}
	return time.Now().Add(time.Duration(by))
}

// A leader whose clock is put on or back goes on as soon as it has renewed its Lease, and nobody else comes in between.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	w := beginWorld(t)
	clock := newWallClock(t)
	p := windlass.Replica{Fields: election("standby: warm")}
	p.Program, p.Env = clock.program(t)
	leader := w.spawnReplica(t, p, "serviceaccount-controller", "replicaset-controller")
	if source := w.awaitHolder(t, mainLease); source != leader.source {
		t.Fatalf("%s leads", source)
	}

	w.startReplica(t, election("standby: warm"), "serviceaccount-controller", "replicaset-controller").AwaitReady(t)
	w.prepareNamespace(t)
	var usual time.Duration // from a change to the write, on this machine
	for n, by := range []time.Duration{0, time.Hour, -time.Hour, 0} {
		clock.setOffset(t, by)
		put := time.Now()
		name := fmt.Sprint("jump-", put.UnixNano())
		w.makeNamespace(t, name)
		first := w.firstBy(t, put, "the leader writes on", func(e cluster.Event) bool {
			return e.Source == leader.source &&
				e.Namespace == name
		})
		took := first.Received.Sub(put)
		if n == 0 {
			usual = took
			continue
		}
		if took > duration+10*usual {
			t.Errorf("with the clock put by %v the leader wrote after %v, and at first after %v", by, took, usual)
		}
	}

	for _, e := range w.listWrites(t, time.Time{}) {
		if e.Source != leader.source {
			t.Errorf("the other one wrote %v", e)
		}
	}
	w.expectTurns(t)
}
