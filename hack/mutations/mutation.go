package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Mutation is a mistake that somebody might make in a file of ours, with the tests that are meant to find it.
type Mutation struct {
	// Name is that of its file, without the ending.
	Name string `json:"-"`
	// Wrong is what goes wrong for users.
	Wrong string `json:"wrong"`

	// File has Text exactly once, and With takes its place.
	File string `json:"file"`
	Text string `json:"text"`
	With string `json:"with"`

	// Test are the flags and packages of the go test that is meant to find it: the narrowest.
	Test string `json:"test"`
	// Module is the folder of the Go module in which Test runs, by default the root.
	Module string `json:"module"`
	// Env is added to the environment of Test.
	Env map[string]string `json:"env"`

	// Survived says of a mutation that no test found at first what was added, so that one does.
	Survived string `json:"survived"`
}

// ending is that of mutations' files.
const ending = ".yaml"

// loadMutations reads the mutations in a folder, in the order of their names.
func loadMutations(folder string) ([]*Mutation, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*"+ending))
	if err != nil {
		return nil, err
	}

	var all []*Mutation
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m := &Mutation{Name: strings.TrimSuffix(filepath.Base(file), ending)}
		if err := yaml.UnmarshalStrict(text, m); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if m.Wrong == "" || m.File == "" || m.Text == "" || m.Test == "" {
			return nil, fmt.Errorf("%s: wrong, file, text and test must be there", file)
		}
		all = append(all, m)
	}
	return all, nil
}

// errStale is of a mutation whose file has changed since.
var errStale = errors.New("stale")

// mutatedFile returns the file as the mutation has it.
func (m *Mutation) mutatedFile(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, m.File))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("mutation %s is %w: there is no %s", m.Name, errStale, m.File)
	}
	if err != nil {
		return nil, err
	}

	if n := strings.Count(string(text), m.Text); n != 1 {
		return nil, fmt.Errorf("mutation %s is %w: %s has its text %d times, not once: "+
			"plant the mistake anew where it would be made today",
			m.Name, errStale, m.File, n)
	}
	return []byte(strings.Replace(string(text), m.Text, m.With, 1)), nil
}

// packages are the folders of the packages that Test runs, below the module's.
func (m *Mutation) packages() (folders []string) {
	for _, arg := range strings.Fields(m.Test) {
		if strings.HasPrefix(arg, "./") {
			folders = append(folders, arg)
		}
	}
	return folders
}

// testPattern returns the pattern of the tests' names, all where there is none.
func (m *Mutation) testPattern() string {
	args := strings.Fields(m.Test)
	if i := slices.Index(args, "-run"); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

// command reports apart what has to pass without mutations.
func (m *Mutation) command() string {
	return fmt.Sprint(m.Module, " ", m.Test, " ", m.Env) // maps are printed in the order of their keys
}
