package golden

import (
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/abi"
)

// Case is the input of one test.
type Case struct {
	Controller string                 `json:"controller,omitempty"`
	Key        string                 `json:"key"`
	Now        time.Time              `json:"now"`
	Attempt    int32                  `json:"attempt,omitempty"`
	Settings   map[string]string      `json:"settings,omitempty"`
	State      string                 `json:"state,omitempty"`
	Objects    []runtime.RawExtension `json:"objects,omitempty"`
	// Live are objects as a live get sees them, where that differs from the cache. One with only kind and metadata.name plus `absent: true` in annotations is gone.
	Live     []runtime.RawExtension `json:"live,omitempty"`
	Failures []Failure              `json:"failures,omitempty"`
	// Reads are the answers to reads by path, Facts what other keys have published; the key's own is there from when it publishes it.
	Reads  map[string]Read   `json:"reads,omitempty"`
	Facts  map[string]string `json:"facts,omitempty"`
	Scales []Scale           `json:"scales,omitempty"`
	// Discovery is what the API server serves. Objects may be of its kinds too.
	Discovery *abi.Discovery `json:"discovery,omitempty"`
}

// Failure fails performed effects that match.
type Failure struct {
	Effect      string `json:"effect"` // create, update, patch, delete, deletecollection, get, list, discover
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	Name        string `json:"name,omitempty"`
	After       int    `json:"after,omitempty"` // so many succeed first
	Times       int    `json:"times,omitempty"` // so many fail; 0: all
	Reason      string `json:"reason"`
	Message     string `json:"message,omitempty"`

	seen int
}

func load(path string) (*Case, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := &Case{}
	if err := yaml.UnmarshalStrict(b, c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if c.Key == "" || c.Now.IsZero() {
		return nil, fmt.Errorf("%s: key and now must be set", path)
	}
	return c, nil
}

// controller finds the case's controller in the plugin.
func (c *Case) controller(m *abi.Manifest) (int32, error) {
	return Controller(m, c.Controller)
}

// Controller finds a controller by name, the only one where the name is empty.
func Controller(m *abi.Manifest, name string) (int32, error) {
	if name == "" && len(m.Controllers) == 1 {
		return 0, nil
	}
	for i := range m.Controllers {
		if m.Controllers[i].Name == name {
			return int32(i), nil
		}
	}
	var names []string
	for i := range m.Controllers {
		names = append(names, m.Controllers[i].Name)
	}
	return 0, fmt.Errorf("controller %q is not in plugin %s: it has %s", name, m.Name, strings.Join(names, ", "))
}

// Settings are the values that a plugin gets: the given ones, else the defaults.
func Settings(m *abi.Manifest, given map[string]string) (*abi.Settings, error) {
	s := &abi.Settings{Values: make([]string, len(m.Settings))}
	known := map[string]bool{}
	for i, x := range m.Settings {
		known[x.Name] = true
		s.Values[i] = x.Default
		if v, ok := given[x.Name]; ok {
			s.Values[i] = v
		}
	}
	for name := range given {
		if !known[name] {
			return nil, fmt.Errorf("setting %q is not in plugin %s", name, m.Name)
		}
	}
	return s, nil
}
