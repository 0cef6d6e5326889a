package subject

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"

	"github.com/windlass-dev/windlass/test/cluster"
)

// profiled turns the command into one of the program that serves profiles.
func (s *Subject) profiled(program string) error {
	port, err := cluster.FreePort()
	if err != nil {
		return err
	}
	s.pprof = fmt.Sprint("127.0.0.1:", port)
	s.cmd = exec.Command(program, append(s.cmd.Args[2:], "--profiles", s.pprof)...) // without "windlass run"
	return nil
}

// Profile starts a profile of the processor into a file. What it gives ends it.
func (s *Subject) Profile(file string) (stop func() error, err error) {
	if err := s.postProfile("/start", file); err != nil {
		return nil, err
	}
	return func() error { return s.postProfile("/stop", "") }, nil
}

// HeapProfile writes a profile of the heap, collected, into a file.
func (s *Subject) HeapProfile(file string) error { return s.postProfile("/heap", file) }

func (s *Subject) postProfile(path, file string) error {
	if s.pprof == "" {
		return fmt.Errorf("%s serves no profiles here", s.Kind)
	}
	r, err := http.PostForm("http://"+s.pprof+path, url.Values{"to": {file}})
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if b, _ := io.ReadAll(r.Body); r.StatusCode != http.StatusOK {
		return fmt.Errorf("profile: %s", b)
	}
	return nil
}
