package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Verdicts.
const (
	found    = "found"
	survived = "SURVIVED"
	broken   = "BROKEN" // what a mutation shows couldn't be learnt
)

// result is what became of a mutation.
type result struct {
	*Mutation
	verdict string
	by      string // the test that has found it, or what is broken
	took    time.Duration
}

// runner runs tests with and without mutations.
type runner struct {
	root    string
	timeout time.Duration    // of one run of tests
	passed  map[string]error // by command: how the tests end without any mutation
}

// tryMutation plants a mutation and runs the tests that are meant to find it. Nothing in the tree is touched: Go's
// overlay has the changed file.
func (r *runner) tryMutation(ctx context.Context, m *Mutation) result {
	began := time.Now()
	verdict, by := r.judgeMutation(ctx, m)
	return result{m, verdict, by, time.Since(began)}
}

func (r *runner) judgeMutation(ctx context.Context, m *Mutation) (verdict, by string) {
	changed, err := m.mutatedFile(r.root)
	if err != nil {
		return broken, err.Error()
	}
	err, known := r.passed[m.command()]
	if !known {
		err = r.testUnmutated(ctx, m)
		r.passed[m.command()] = err
	}
	if err != nil {
		return broken, "without the mutation: " + err.Error()
	}

	overlay, remove, err := r.overlay(m, changed)
	if err != nil {
		return broken, err.Error()
	}
	defer remove()
	o, err := r.runTests(ctx, m, "-overlay", overlay)
	switch {
	case err != nil:
		return broken, err.Error()
	case o.failed != "":
		return found, o.failed
	}
	return survived, ""
}

// testUnmutated runs the tests without a mutation.
func (r *runner) testUnmutated(ctx context.Context, m *Mutation) error {
	o, err := r.runTests(ctx, m)
	if err == nil && o.failed != "" {
		err = fmt.Errorf("%s fails", o.failed)
	}
	return err
}

// overlay writes what go test -overlay takes, outside the tree.
func (r *runner) overlay(m *Mutation, changed []byte) (file string, remove func(), err error) {
	folder, err := os.MkdirTemp("", "mutation-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(folder) }

	source := filepath.Join(folder, filepath.Base(m.File))
	text, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(r.root, m.File): source}})
	if err == nil {
		err = os.WriteFile(source, changed, 0o600)
	}
	file = filepath.Join(folder, "overlay.json")
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		remove()
		return "", nil, err
	}
	return file, remove, nil
}

// outcome is what go test -json has said.
type outcome struct {
	failed string // the first test that failed, "": none did
	tests  int
}

// building is how long the build of tests may take.
const building = 10 * time.Minute

// event is a line of go test -json.
type event struct{ Action, Test, Output, FailedBuild string }

// runTests runs the tests of a mutation. That a test fails is an outcome; an error says that it couldn't come to that.
func (r *runner) runTests(ctx context.Context, m *Mutation, flags ...string) (o outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout+building)
	defer cancel()
	args := append([]string{"test", "-json", "-vet=off", "-timeout", r.timeout.String()}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, strings.Fields(m.Test)...)...)
	cmd.Dir = filepath.Join(r.root, m.Module)
	cmd.Env = append(os.Environ(), "WINDLASS_TEST_CLUSTERS=none")
	for name, value := range m.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.WaitDelay = 10 * time.Second // what tests have started may hold the output open
	said, runErr := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return o, fmt.Errorf("not done within %v", r.timeout+building)
	}

	o, err = parseOutput(said)
	switch {
	case err != nil:
		return o, err
	case runErr != nil && o.failed == "":
		return o, fmt.Errorf("go test: %w: %s", runErr, endOfText(said))
	case o.tests == 0:
		return o, errors.New("no test has run")
	}
	return o, nil
}

// parseOutput parses what go test -json says, between which compilers and programs may say anything.
func parseOutput(said []byte) (o outcome, err error) {
	var build strings.Builder
	for line := range bytes.Lines(said) {
		var e event
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		switch {
		case e.Action == "build-output":
			build.WriteString(e.Output)
		case e.FailedBuild != "":
			return o, fmt.Errorf("it doesn't build: %s", endOfText([]byte(build.String())))
		case strings.HasPrefix(e.Output, "panic: test timed out"):
			return o, errors.New("the tests don't end: " + strings.TrimSpace(e.Output))
		case e.Action == "run":
			o.tests++
		case e.Action == "fail" && e.Test != "" && o.failed == "":
			o.failed = e.Test // a subtest's end is told before its parent's
		}
	}
	return o, nil
}

// endOfText returns the end of a text that may be long.
func endOfText(text []byte) string {
	const most = 1000
	return strings.TrimSpace(string(text[max(0, len(text)-most):]))
}
