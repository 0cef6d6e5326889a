package golden

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/schema"
)

// Case is one test: what a sync is given, and under want what it does.
type Case struct {
	Name       string    `json:"case"`
	Controller string    `json:"controller,omitempty"`
	Key        string    `json:"key"`
	Now        time.Time `json:"now"`
	Attempt    int32     `json:"attempt,omitempty"`
	// Timer is how long it is until the key's timer goes off, which an earlier sync has asked for; 0: it has none, or it
	// has gone off.
	Timer    metav1.Duration   `json:"timer,omitzero"`
	Settings map[string]string `json:"settings,omitempty"`
	State    string            `json:"state,omitempty"`
	// Objects are what the cluster has: when the case has been read, those of the file's base are among them, but for
	// those that Without names and with what Change has otherwise, by "KIND NAME". One may say in like which other one it
	// is like, and beside that only what it has otherwise.
	Objects []runtime.RawExtension     `json:"objects,omitempty"`
	Change  map[string]json.RawMessage `json:"change,omitempty"`
	Without []string                   `json:"without,omitempty"`
	// Live are objects as a live read sees them, where that differs from the cache. One with the annotation absent: "true"
	// is gone.
	Live     []runtime.RawExtension `json:"live,omitempty"`
	Failures []Failure              `json:"failures,omitempty"`
	// Reads are the answers to reads by path, Facts what other keys have published; the key's own is there from when it
	// publishes it.
	Reads  map[string]Read   `json:"reads,omitempty"`
	Facts  map[string]string `json:"facts,omitempty"`
	Scales []Scale           `json:"scales,omitempty"`
	// Allowed is what access reviews allow to whom they are about, such as "create policy/poddisruptionbudgets/status".
	Allowed []string `json:"allowed,omitempty"`
	// Discovery is what the API server serves, in place of the definitions in the plugin's folder crd. Objects may be of
	// its kinds too.
	Discovery *Discovery `json:"discovery,omitempty"`
	// Unlisted are resources that can't be listed, without whose objects lenient views are delivered.
	Unlisted []string `json:"unlisted,omitempty"`
	// Gone says that there is nothing on purpose: the key's object doesn't exist. A case that has nothing and wants
	// nothing must say so, for else it would assert nothing.
	Gone bool `json:"gone,omitempty"`
	// Want is what the sync should do; nil: the case doesn't say.
	Want *Output `json:"want,omitempty"`

	// File is where the case is, Line where it is named.
	File string `json:"-"`
	Line int    `json:"-"`

	defined []*schema.Resource // by the plugin's folder crd
	former  string             // what came out last, in the former form
}

// Topic is the name of the case's file.
func (c *Case) Topic() string { return topic(c.File) }

// ID is TOPIC/CASE, by which the cases of a folder are told apart.
func (c *Case) ID() string { return c.Topic() + "/" + c.Name }

// errorf is an error that says which case it is about, and where that is.
func (c *Case) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: case %s: %w", c.File, c.Line, c.Name, fmt.Errorf(format, args...))
}

// Failure fails effects that match, performed ones and those of the answer.
type Failure struct {
	Effect      string `json:"effect"` // one of failing
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	Name        string `json:"name,omitempty"`
	After       int    `json:"after,omitempty"` // so many succeed first
	Times       int    `json:"times,omitempty"` // so many fail; 0: all
	Reason      string `json:"reason"`
	Message     string `json:"message,omitempty"`
}

// failing are the effects that can fail.
var failing = []string{
	"apply", "create", "delete", "deletecollection", "discover", "evict", "get", "list", "patch", "review", "sign", "update",
}

func (f *Failure) String() string {
	target := f.Resource
	if f.Subresource != "" {
		target += "/" + f.Subresource
	}

	return strings.Join(strings.Fields(f.Effect+" "+target+" "+f.Name), " ")
}

// Discovery is [abi.Discovery] as a file has it.
type Discovery struct {
	Resources []APIResource      `json:"resources,omitempty"`
	Failures  []DiscoveryFailure `json:"failures,omitempty"`
}

// APIResource is [abi.APIResource] as a file has it.
type APIResource struct {
	Resource   string   `json:"resource"`
	Kind       string   `json:"kind"`
	Namespaced bool     `json:"namespaced,omitempty"`
	Verbs      []string `json:"verbs,omitempty"`
}

// DiscoveryFailure is [abi.DiscoveryFailure] as a file has it.
type DiscoveryFailure struct {
	GroupVersion string `json:"groupVersion"`
	Message      string `json:"message"`
}

// message is the discovery as the plugin gets it.
func (d *Discovery) message() *abi.Discovery {
	m := &abi.Discovery{}
	for _, r := range d.Resources {
		m.Resources = append(m.Resources, abi.APIResource(r))
	}
	for _, f := range d.Failures {
		m.Failures = append(m.Failures, abi.DiscoveryFailure(f))
	}

	return m
}

// servedResources returns the resources that aren't built in: those of the discovery, or of the definitions where there
// is none.
func servedResources(d *Discovery, defined []*schema.Resource) []abi.APIResource {
	if d != nil {
		return d.message().Resources
	}

	var all []abi.APIResource
	for _, r := range defined {
		all = append(all, abi.APIResource{Resource: r.Resource.String(), Kind: r.Kind, Namespaced: r.Namespaced})
	}

	return all
}

// validate returns what is missing or can't be.
func (c *Case) validate() error {
	switch {
	case c.Name == "":
		return fmt.Errorf("it has no name: begin with \"case: NAME\"")
	case strings.ContainsAny(c.Name, "/ \t"):
		return fmt.Errorf("its name %q has a space or a slash in it: use dashes", c.Name)
	case c.Key == "" || c.Now.IsZero():
		return fmt.Errorf("key and now must be set")
	}

	for i := range c.Failures {
		f := &c.Failures[i]
		if !slices.Contains(failing, f.Effect) {
			return fmt.Errorf("failures[%d].effect %q: must be one of %s", i, f.Effect, strings.Join(failing, ", "))
		}
		if f.Reason == "" {
			return fmt.Errorf("failures[%d].reason must be set, such as Conflict or NotFound", i)
		}
	}

	return nil
}

// Wanted returns what should come out, as Run has it.
func (c *Case) Wanted() (string, error) {
	if c.Want == nil {
		return "", c.errorf("it has no want, the output that is expected: " +
			"run with -update (windlass plugin test: --update), then check what that has written")
	}

	return record.YAML(c.Want)
}

// Holds reports whether what came out last is what the case wants, in the form of now or in the former one.
func (c *Case) Holds(out string) (bool, error) {
	want, err := c.Wanted()
	return err == nil && (want == out || want == c.former), err
}

// Asserts returns an error where the case is given nothing and nothing comes out, and doesn't say that it is meant so.
func (c *Case) Asserts(out string) error {
	if c.Gone || !c.isBare() || out != "{}\n" {
		return nil
	}
	return c.errorf("it asserts nothing: it has no objects, and nothing is done; add the objects, " +
		"or \"gone: true\" if the key's object is meant not to exist")
}

// isBare reports whether the sync is given nothing that it could answer to.
func (c *Case) isBare() bool {
	return len(c.Objects) == 0 && len(c.Live) == 0 && len(c.Failures) == 0 && len(c.Reads) == 0 && len(c.Facts) == 0 &&
		len(c.Scales) == 0 && len(c.Allowed) == 0 && c.State == ""
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
