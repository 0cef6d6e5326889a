package running

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/windlass-dev/windlass/cmd/windlass/answer/answertest"
)

// terminal opens a pseudo-terminal: what a person has, and what a program has.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(person.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 140})
	}
	if err != nil {
		t.Fatal(err)
	}
	if program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		person.Close()
		program.Close()
	})
	return person, program
}

// On a terminal it goes on until q, sorts by what is pressed, and leaves the terminal as it was.
func TestTopOnTerminal(t *testing.T) {
	address, _ := serveStatus(t, ailingStatus(), true)
	person, program := terminal(t)
	was, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}

	cmd, _, _ := answertest.Command(t, "top", "--interval", "100ms", "--server", address)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	screen := make(chan string, 1000)
	go func() {
		for b := make([]byte, 64<<10); ; {
			n, err := person.Read(b)
			if err != nil {
				return
			}
			screen <- string(b[:n])
		}
	}()

	seen := ""
	await := func(what string) {
		t.Helper()
		for end := time.After(time.Minute); !strings.Contains(seen, what); {
			select {
			case s := <-screen:
				seen += s
			case <-end:
				t.Fatalf("no %q: %q", what, seen)
			}
		}
		_, seen, _ = strings.Cut(seen, what)
	}

	press := func(key string) {
		t.Helper()
		if _, err := person.WriteString(key); err != nil {
			t.Fatal(err)
		}
	}

	await(screenOn)
	await("sorted by syncs")
	press("e")
	await("sorted by errors")
	press("u")
	await("sorted by queue")
	press("q")
	await(screenOff)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if now, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS); err != nil || *now != *was {
		t.Errorf("the terminal isn't as it was: %v", err)
	}
}
