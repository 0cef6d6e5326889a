package guardian

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// roleVariable has the test binary be a program with a guardian; its value is what the ward does.
const roleVariable = "TEST_WARD"

func TestMain(m *testing.M) {
	Begin()
	if what := os.Getenv(roleVariable); what != "" {
		os.Exit(program(what))
	}
	os.Exit(m.Run())
}

func program(what string) int {
	if ended, f, ok := Heir(); ok {
		var left [4]byte
		_, err := syscall.Pread(f[0], left[:], 0)
		fmt.Printf("heir: %v %v, code %d\n", string(left[:]), err, Code(ended))
		return Code(ended)
	}

	process, f, ok := Ward()
	if !ok {
		file, err := os.Create(filepath.Join(os.TempDir(), "shared"))
		if err == nil {
			_, err = file.Write(make([]byte, 4))
		}
		if err == nil {
			err = Enter(Files{int(file.Fd()), int(file.Fd()), int(file.Fd())})
		}
		fmt.Println(err)
		return 99
	}

	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP)
	if strings.Contains(what, "leave") {
		if _, err := syscall.Pwrite(f[0], []byte("left"), 0); err != nil {
			fmt.Println(err)
		}
	}

	fmt.Println("ward", os.Getpid(), process, os.Getppid(), len(os.Getenv(wardVariable)))
	if strings.Contains(what, "exit") {
		return 3
	}

	if strings.Contains(what, "crash") {
		var none *int
		*none = 1
	}

	for s := range signals {
		fmt.Println("got", s)
		if s == syscall.SIGTERM {
			return 0
		}
	}
	return 99
}

// guardedProcess is such a program.
type guardedProcess struct {
	*exec.Cmd
	ward int
	out  *bufio.Reader
}

func startGuarded(t *testing.T, what string) *guardedProcess {
	t.Helper()
	p := &guardedProcess{Cmd: exec.CommandContext(t.Context(), os.Args[0])}
	p.Env = append(os.Environ(), roleVariable+"="+what, "TMPDIR="+t.TempDir(), "GOTRACEBACK=none")
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	var guardian, parent, left int
	if _, err := fmt.Sscanf(p.readLine(t), "ward %d %d %d %d", &p.ward, &guardian, &parent, &left); err != nil {
		t.Fatal(err)
	}
	if guardian != p.Process.Pid || parent != guardian || left != 0 {
		t.Errorf("process %d: its ward says that its guardian is %d, its parent %d, and has %d bytes of what made it a ward",
			p.Process.Pid, guardian, parent, left)
	}
	return p
}

func (p *guardedProcess) readLine(t *testing.T) string {
	t.Helper()
	l, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("after %q: %v", l, err)
	}
	return strings.TrimSpace(l)
}

// waitForEnd waits for its end and returns its exit code and what it has said meanwhile.
func (p *guardedProcess) waitForEnd(t *testing.T) (code int, said string) {
	t.Helper()
	b, err := io.ReadAll(p.out)
	if err != nil {
		t.Fatal(err)
	}
	err = p.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode(), string(b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0, string(b)
}

// However the ward ends, the process ends with its exit code, and settles first what it has left, if anything.
func TestEnds(t *testing.T) {
	for what, want := range map[string]struct {
		signal syscall.Signal // to the ward
		code   int
		said   string
	}{
		"exit":            {0, 3, ""},
		"leave and exit":  {0, 3, "heir: left <nil>, code 3\n"},
		"wait":            {syscall.SIGKILL, 137, ""},
		"leave and wait":  {syscall.SIGKILL, 137, "heir: left <nil>, code 137\n"},
		"leave and crash": {0, 2, "heir: left <nil>, code 2\n"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := startGuarded(t, what)
			if want.signal != 0 {
				if err := syscall.Kill(p.ward, want.signal); err != nil {
					t.Fatal(err)
				}
			}
			if code, said := p.waitForEnd(t); code != want.code || said != want.said {
				t.Errorf("exit code %d, said %q; want %d, %q", code, said, want.code, want.said)
			}
		})
	}
}

// Signals are passed on.
func TestSignals(t *testing.T) {
	p := startGuarded(t, "wait")
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		if err := p.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		if said := p.readLine(t); said != "got "+s.String() {
			t.Errorf("%v: %s", s, said)
		}
	}
	if code, said := p.waitForEnd(t); code != 0 || said != "" {
		t.Errorf("exit code %d, %q", code, said)
	}
}

// A guardian that is killed takes its ward along, which is told to end.
func TestKilled(t *testing.T) {
	p := startGuarded(t, "leave and wait")
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if said := p.readLine(t); said != "got terminated" {
		t.Error(said)
	}
	if code, said := p.waitForEnd(t); code != -1 || said != "" {
		t.Errorf("exit code %d, %q", code, said)
	}
}

// A ward that is stopped isn't one that has ended.
func TestStopped(t *testing.T) {
	p := startGuarded(t, "leave and wait")
	if err := syscall.Kill(p.ward, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}

	for state := ""; state != "T"; {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.ward))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscanf(string(b[strings.LastIndexByte(string(b), ')')+1:]), "%s", &state); err != nil {
			t.Fatal(err)
		}
	}

	said := make(chan string, 1)
	go func() { said <- p.readLine(t) }()
	select {
	case s := <-said:
		t.Fatalf("stopped, and: %s", s)
	case <-time.After(100 * time.Millisecond):
	}

	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT} {
		if err := syscall.Kill(p.ward, s); err != nil {
			t.Fatal(err)
		}
	}

	if s := <-said; s != "got terminated" {
		t.Error(s)
	}
	if code, _ := p.waitForEnd(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]string{"": "[]", "7": "[7]", "7 8 9": "[7 8 9]", "7 8 x": "[]", "7  8": "[]",
		" ": "[]"} {
		if got := fmt.Sprint(numbers(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
