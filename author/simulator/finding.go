package simulator

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// Check is a property that controllers should have.
type Check string

// The checks. Package sdk/plugintest tells them to authors.
const (
	Panics       Check = "panic"
	Undeclared   Check = "undeclared"
	Fields       Check = "fields"
	Determinism  Check = "determinism"
	HiddenState  Check = "hidden state"
	Clock        Check = "clock"
	Settles      Check = "settles"
	Fails        Check = "fails"
	Order        Check = "order"
	Crash        Check = "crash"
	Refused      Check = "refused"
	Asked        Check = "asked"
	Resync       Check = "resync"
	Status       Check = "status"
	Generation   Check = "generation"
	Foreign      Check = "foreign"
	Bystander    Check = "bystander"
	Precondition Check = "precondition"
	Leftover     Check = "leftover"
	Finalizer    Check = "finalizer"
	Terminating  Check = "terminating"
)

// Finding is a property that a controller hasn't, with the run that shows it.
type Finding struct {
	Check    Check    `json:"check"`
	Scenario Scenario `json:"scenario"`
	// Step is the first step, from 1, at which it shows, At what that step was.
	Step    int    `json:"step"`
	At      string `json:"at,omitempty"`
	Message string `json:"message"`
	Detail  string `json:"detail,omitempty"`
	// Steps are those of the run up to there.
	Steps []string `json:"steps,omitempty"`
	// File replays it.
	File string `json:"file,omitempty"`
}

// String is the finding for people.
func (f Finding) String() string {
	s := fmt.Sprintf("%s: %s\n", f.Check, f.Message)
	s += fmt.Sprintf("  in the run: %s; step %d", f.Scenario, f.Step)
	if f.At != "" {
		s += ": " + f.At
	}
	s += "\n"
	if f.Detail != "" {
		s += indentLines(f.Detail, "    ")
	}
	if f.File != "" {
		s += "  " + f.File + " runs it again\n"
	}
	return s
}

func indentLines(s, by string) string {
	return by + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n"+by) + "\n"
}

// Recorded is a finding's file: all that is needed to run it again, the plugin aside.
type Recorded struct {
	Plugin      string            `json:"plugin"`
	Finding     Finding           `json:"finding"`
	With        []string          `json:"with,omitempty"`
	Keep        []string          `json:"keep,omitempty"`
	Settings    map[string]string `json:"settings,omitempty"`
	World       *World            `json:"world"`
	Definitions []json.RawMessage `json:"definitions,omitempty"`
}

var odd = regexp.MustCompile(`[^a-z0-9]+`)

// Write writes the file into a folder, under a name that the finding gives.
func (r *Recorded) Write(folder string) (string, error) {
	b, err := yaml.Marshal(r)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	name := odd.ReplaceAllString(strings.ToLower(r.Plugin+" "+string(r.Finding.Check)), "-") + ".yaml"
	path := filepath.Join(folder, name)
	head := "# " + strings.ReplaceAll(r.Finding.Message, "\n", "\n# ") +
		"\n# Run it again with plugintest.Replay, or with: windlass plugin test MODULE --replay " + name + "\n"
	return path, os.WriteFile(path, append([]byte(head), b...), 0o644)
}

// ReadRecorded reads a finding's file.
func ReadRecorded(path string) (*Recorded, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &Recorded{}
	if err := yaml.UnmarshalStrict(b, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if r.World == nil {
		return nil, fmt.Errorf("%s: the file has no world, so it isn't the file of a finding", path)
	}
	return r, nil
}
