package life

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	strict "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// FileName is what a controller's life is called in its plugin's folder.
const FileName = "life.yaml"

// Life is what a plugin's controllers are put through.
type Life struct {
	Plugin string `json:"-"` // its folder's name
	// Controllers go by the names that upstream has for them.
	Controllers []string `json:"controllers"`
	// Settings are flags of upstream, without the dashes, and the plugin's settings of the same names
	Settings map[string]string `json:"settings"`
	// Requests are of what the controllers ask more than the native ones: "ACCOUNT: VERB RESOURCE"
	Requests  []Difference `json:"requests"`
	Work      Script       `json:"work"`
	Scenarios []Script     `json:"scenarios"`
}

// Scripts are the work and all scenarios.
func (l *Life) Scripts() []*Script {
	all := []*Script{&l.Work}
	for i := range l.Scenarios {
		all = append(all, &l.Scenarios[i])
	}
	return all
}

// Script is played in a namespace of its own.
type Script struct {
	Name       string   `json:"name"`
	About      string   `json:"about"`      // what it shows
	Namespaces []string `json:"namespaces"` // that it makes besides its own, to be looked at as well
	// Counts is "vary" where in how many steps it goes is a matter of timing, and so how many events there are.
	Counts      string       `json:"counts"`
	Nodes       string       `json:"nodes"` // "fixed" where pods name their nodes, which are compared then
	Differences []Difference `json:"differences"`
	Steps       []Step       `json:"-"`
	Rest        []Condition  `json:"-"` // what holds in the end, when nothing is written any more

	RawSteps []json.RawMessage `json:"steps"`
	RawRest  []json.RawMessage `json:"rest"`
}

// Difference is one from the native manager that is meant.
type Difference struct {
	What      string `json:"what"`      // the line that differs, with * for any text
	Row       string `json:"row"`       // of docs/differences.md: its first column, or how that begins
	Sometimes bool   `json:"sometimes"` // it takes luck to see it
}

// Step is one of these.
type Step struct {
	Create  *Create     `json:"create"`
	Patch   *Patch      `json:"patch"`
	Delete  *Delete     `json:"delete"`
	End     *End        `json:"end"`
	Metrics *Metrics    `json:"metrics"`
	Until   []Condition `json:"until"`  // waits
	Expect  []Condition `json:"expect"` // holds now, or the script has failed
}

// Which are the objects of a kind that are meant: those with the name, or with the selector, that match.
type Which struct {
	Kind      string         `json:"kind"`      // such as Deployment, or Widget.v1.example.com where that isn't enough
	Namespace string         `json:"namespace"` // by default the script's own
	Name      string         `json:"name"`
	Selector  string         `json:"selector"`
	Matches   map[string]any `json:"matches"` // see [Matches]
}

// Create makes objects.
type Create struct {
	Times   int              `json:"times"` // each of them so often, $(i) counting from 0
	Objects []map[string]any `json:"objects"`
}

// Patch changes the first of the objects by name; it waits until there are as many.
type Patch struct {
	Which
	Count       int    `json:"count"` // 1 by default
	Subresource string `json:"subresource"`
	Merge       any    `json:"merge"`
	JSON        any    `json:"json"`
	Strategic   any    `json:"strategic"`
}

// Delete deletes the first of the objects by name; it waits until there are as many.
type Delete struct {
	Which
	Count       int    `json:"count"`       // 1 by default
	Propagation string `json:"propagation"` // Background by default
	Grace       *int64 `json:"grace"`       // in seconds
}

// End has the first of the pods by name that haven't ended do so, as their kubelets would tell; it waits until
// there are as many.
type End struct {
	Which
	Count      int              `json:"count"` // 1 by default
	Code       int              `json:"code"`  // the exit code of all containers
	Reason     string           `json:"reason"`
	Ago        string           `json:"ago"`        // for how long they are said to have ended
	Conditions []map[string]any `json:"conditions"` // told besides
}

// Metrics say what the metrics APIs serve from now on; see test/metricsapi.
type Metrics struct {
	Use map[string]map[string]string `json:"use"` // by the label app of pods
	Say map[string]string            `json:"say"`
}

// Condition is one of objects, events or requests. Of a Deployment, ReplicaSet, StatefulSet or DaemonSet its
// controller must have seen the present spec besides.
type Condition struct {
	Which
	Absent  bool     `json:"absent"`
	Count   *int     `json:"count"` // how many there are; without, there is one, or all of the selector match
	Event   *Event   `json:"event"` // there is one about the named object, or about one of that kind
	Request *Request `json:"request"`
}

// Event is one that a controller has told.
type Event struct {
	Reason  string `json:"reason"`
	Message string `json:"message"` // a part of it
}

// Request is one that the API server has answered in the script's namespaces.
type Request struct {
	Verb     string `json:"verb"`
	Resource string `json:"resource"` // with its subresource
	Name     string `json:"name"`
	Code     int    `json:"code"`
	AtLeast  int    `json:"atLeast"` // 1 by default
}

// All reads the life of each plugin's folder that has one.
func All(plugins string) ([]*Life, error) {
	files, err := filepath.Glob(filepath.Join(plugins, "*", FileName))
	if err != nil {
		return nil, err
	}
	var all []*Life
	var wrong []error
	for _, path := range files {
		l, err := Read(path)
		all, wrong = append(all, l), append(wrong, err)
	}
	return all, errors.Join(wrong...)
}

// Read reads one life.
func Read(path string) (*Life, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	l, err := decode(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	l.Plugin = filepath.Base(filepath.Dir(path))
	return l, nil
}

func decode(text []byte) (*Life, error) {
	b, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	l := &Life{}
	if err := unmarshal(b, l); err != nil {
		return nil, err
	}
	if len(l.Controllers) == 0 {
		return nil, errors.New("controllers: names none")
	}
	if l.Work.Name != "" {
		return nil, errors.New("work.name: its name is work")
	}
	l.Work.Name = "work"
	seen := map[string]bool{}
	for i, s := range l.Scripts() {
		switch {
		case !name.MatchString(s.Name):
			return nil, fmt.Errorf("scenarios[%d].name: %q is no name of a namespace", i-1, s.Name)
		case seen[s.Name]:
			return nil, fmt.Errorf("scenarios[%d].name: there are two called %s", i-1, s.Name)
		}
		seen[s.Name] = true
		if err := s.decode(); err != nil {
			return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
		}
	}
	return l, nil
}

var name = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// unmarshal is strict: unknown and repeated fields are errors that have their path, and case counts.
func unmarshal(b []byte, to any) error {
	wrong, err := strict.UnmarshalStrict(b, to)
	return errors.Join(append(wrong, err)...)
}

func (s *Script) decode() error {
	if s.Counts != "" && s.Counts != "vary" {
		return fmt.Errorf("counts: %q is not \"vary\"", s.Counts)
	}
	if s.Nodes != "" && s.Nodes != "fixed" {
		return fmt.Errorf("nodes: %q is not \"fixed\"", s.Nodes)
	}
	for i, d := range s.Differences {
		if d.What == "" || d.Row == "" {
			return fmt.Errorf("differences[%d]: wants what differs and the row of docs/differences.md", i)
		}
	}
	for i, raw := range s.RawSteps {
		var step Step
		err := unmarshal(raw, &step)
		if err == nil {
			err = step.check()
		}
		if err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		s.Steps = append(s.Steps, step)
	}
	for i, raw := range s.RawRest {
		var c Condition
		err := unmarshal(raw, &c)
		if err == nil {
			err = c.check()
		}
		if err != nil {
			return fmt.Errorf("rest[%d]: %w", i, err)
		}
		s.Rest = append(s.Rest, c)
	}
	if len(s.Steps) == 0 || len(s.Rest) == 0 {
		return errors.New("wants steps, and a rest")
	}
	return nil
}

// Verb is what a step does.
func (s *Step) Verb() string {
	verbs := s.verbs()
	return strings.Join(verbs, " and ")
}

func (s *Step) verbs() (all []string) {
	for verb, is := range map[string]bool{
		"create": s.Create != nil, "patch": s.Patch != nil, "delete": s.Delete != nil, "end": s.End != nil,
		"metrics": s.Metrics != nil, "until": s.Until != nil, "expect": s.Expect != nil,
	} {
		if is {
			all = append(all, verb)
		}
	}
	slices.Sort(all)
	return all
}

func (s *Step) check() error {
	if n := len(s.verbs()); n != 1 {
		return fmt.Errorf("does %d things (%s): one step does one", n, s.Verb())
	}
	switch {
	case s.Create != nil:
		return s.Create.check()
	case s.Patch != nil:
		given := 0
		for _, p := range []any{s.Patch.Merge, s.Patch.JSON, s.Patch.Strategic} {
			if p != nil {
				given++
			}
		}
		if given != 1 {
			return fmt.Errorf("patch: wants one of merge, json and strategic, has %d", given)
		}
		return s.Patch.Which.check("patch")
	case s.Delete != nil:
		if p := s.Delete.Propagation; p != "" && p != "Background" && p != "Foreground" && p != "Orphan" {
			return fmt.Errorf("delete.propagation: %q is not Background, Foreground or Orphan", p)
		}
		return s.Delete.Which.check("delete")
	case s.End != nil:
		if _, err := time.ParseDuration(s.End.Ago); s.End.Ago != "" && err != nil {
			return fmt.Errorf("end.ago: %w", err)
		}
		if s.End.Kind != "" {
			return errors.New("end.kind: is always Pod")
		}
		s.End.Kind = "Pod"
		return s.End.Which.check("end")
	case s.Metrics != nil:
		return nil
	}
	for verb, list := range map[string][]Condition{"until": s.Until, "expect": s.Expect} {
		for i := range list {
			if err := list[i].check(); err != nil {
				return fmt.Errorf("%s[%d]: %w", verb, i, err)
			}
		}
	}
	return nil
}

func (c *Create) check() error {
	if len(c.Objects) == 0 {
		return errors.New("create.objects: names none")
	}
	for i, o := range c.Objects {
		metadata, _ := o["metadata"].(map[string]any)
		if o["apiVersion"] == nil || o["kind"] == nil || metadata["name"] == nil {
			return fmt.Errorf("create.objects[%d]: wants apiVersion, kind and metadata.name", i)
		}
	}
	return nil
}

func (w *Which) check(verb string) error {
	switch {
	case w.Kind == "":
		return fmt.Errorf("%s.kind: is missing", verb)
	case w.Name != "" && w.Selector != "":
		return fmt.Errorf("%s: wants a name or a selector, not both", verb)
	}
	return nil
}

func (c *Condition) check() error {
	if c.Request != nil {
		if c.Request.Verb == "" || c.Request.Resource == "" {
			return errors.New("request: wants a verb and a resource")
		}
		return nil
	}
	switch {
	case c.Absent && (c.Count != nil || c.Event != nil || c.Matches != nil):
		return errors.New("absent: goes with a name alone")
	case c.Absent && c.Name == "":
		return errors.New("absent: wants a name; of a selector count: 0 says it")
	case c.Event != nil && c.Event.Reason == "":
		return errors.New("event.reason: is missing")
	}
	return c.Which.check("condition")
}
