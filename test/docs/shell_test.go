package docs

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// shell is a reader's terminal: bash in an empty folder, with windlass, devcluster, kubectl and TinyGo on the PATH.
type shell struct {
	t       *testing.T
	dir     string
	stdin   io.WriteCloser
	lines   chan string
	renamed *strings.Replacer // what a page calls otherwise than this machine
	back    *strings.Replacer
}

// end is printed behind the output of each command.
const end = "-- end of the command --"

// newShell starts a terminal. names are pairs: what pages call it, what it is here.
func newShell(t *testing.T, kubeconfig string, names ...string) *shell {
	t.Helper()
	bin := t.TempDir()
	_, port := cluster.FreeAddress(t)
	// Readers have one windlass, on its usual port. Here others run beside it.
	writeScript(t, bin, "windlass", fmt.Sprintf(`#!/bin/sh
case $1 in
run) shift; exec %[1]q run --secure-port %[2]s "$@" ;;
status | get | explain | record | release | top | console) exec %[1]q "$@" --server 127.0.0.1:%[2]s ;;
esac
exec %[1]q "$@"
`, windlass.Program(), port))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	writeScript(t, bin, "kubectl", fmt.Sprintf("#!/bin/sh\nWINDLASS_TEST_KUBECTL=1 exec %q \"$@\"\n", self))
	s := &shell{t: t, dir: t.TempDir(), lines: make(chan string)}
	names = append(names, "127.0.0.1:10257", "127.0.0.1:"+port)
	var swapped []string
	for i := 0; i < len(names); i += 2 {
		swapped = append(swapped, names[i+1], names[i])
	}
	s.renamed, s.back = strings.NewReplacer(names...), strings.NewReplacer(swapped...)

	c := exec.Command("bash", "--norc")
	c.Dir = s.dir
	built := filepath.Dir(windlass.Program())
	path := strings.Join([]string{bin, built, filepath.Join(built, "toolchain"), os.Getenv("PATH")},
		string(filepath.ListSeparator))
	c.Env = append(os.Environ(), "PATH="+path, "KUBECONFIG="+kubeconfig, "GOFLAGS=", "COLUMNS=200")
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout, c.Stderr = in, in
	if s.stdin, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what it has started ends with it
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	go func() {
		defer close(s.lines)
		all := bufio.NewScanner(out)
		all.Buffer(nil, 1<<20)
		for all.Scan() {
			s.lines <- all.Text()
		}
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM)
		late := time.AfterFunc(20*time.Second, func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
		defer late.Stop()
		for range s.lines {
		}
		_ = c.Wait()
		out.Close()
	})
	return s
}

func writeScript(t *testing.T, folder, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
}

// runCommand runs a command and returns what it prints; that it failed is in the last line.
func (s *shell) runCommand(command string) string {
	s.t.Helper()
	fmt.Fprintf(s.stdin, "{ %s\n} </dev/null; code=$?; echo; echo \"%s$code\"\n", s.renamed.Replace(command), end)
	var b strings.Builder
	late := time.After(2 * time.Minute)
	for {
		select {
		case <-late:
			s.t.Fatalf("$ %s takes more than two minutes; so far it printed\n%s", command, &b)
		case l, ok := <-s.lines:
			if !ok {
				s.t.Fatalf("$ %s ended the shell; it printed\n%s", command, &b)
			}
			if code, ended := strings.CutPrefix(l, end); ended {
				out := strings.TrimSuffix(b.String(), "\n")
				if code != "0" && !mayFail(command) {
					out += "exit code " + code + "\n"
				}
				return s.back.Replace(strings.ReplaceAll(out, s.dir, "/home/you"))
			}
			b.WriteString(l + "\n")
		}
	}
}

// mayFail reports whether a command's exit code says something else than that it failed: that there are differences, or
// that something isn't well.
func mayFail(command string) bool {
	return strings.HasPrefix(command, "windlass replay") || strings.HasPrefix(command, "windlass status")
}

// isReadOnly reports whether a command changes nothing.
func isReadOnly(command string) bool {
	for _, prefix := range []string{"windlass status", "windlass get ", "windlass explain", "kubectl get", "cat ", "ls"} {
		if strings.HasPrefix(command, prefix) && !strings.Contains(command, ">") {
			return true
		}
	}
	return false
}

// writeFile writes a file as a page says.
func (s *shell) writeFile(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.workingFolder(), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(s.renamed.Replace(text)), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// workingFolder returns the folder that the shell is in.
func (s *shell) workingFolder() string {
	s.t.Helper()
	return strings.Replace(strings.TrimSpace(s.runCommand("pwd")), "/home/you", s.dir, 1)
}
