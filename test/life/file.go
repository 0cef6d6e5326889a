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

	strict "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// FileName is what a controller's life is called in its plugin's folder. What can't be played beside everything else
// is in further files, life-KIND.yaml: those of a kind are played together, with no other controllers than theirs.
const FileName = "life.yaml"

// Life is what a plugin's controllers are put through.
type Life struct {
	Plugin string `json:"-"` // its folder's name
	Kind   string `json:"-"` // empty for life.yaml
	// Controllers go by the names that upstream has for them.
	Controllers []string `json:"controllers"`
	// Settings are flags of upstream, without the dashes, and the plugin's settings of the same names
	Settings map[string]string `json:"settings"`
	// Quick are further settings of the plugin, which upstream doesn't have, for when no native manager is waited for
	Quick map[string]string `json:"quick"`
	// Metrics are those that both managers count the same; of a further file's in the namespaces of its scripts
	Metrics []string `json:"metrics"`
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
	// Most are how many requests of a kind, "ACCOUNT: VERB RESOURCE", Windlass makes in its namespace at most, where
	// the native manager may make more
	Most   map[string]int `json:"most"`
	Before []Step         `json:"-"` // in a further file: while no manager runs
	Steps  []Step         `json:"-"`
	Rest   []Condition    `json:"-"` // what holds in the end, when nothing is written any more

	RawBefore []json.RawMessage `json:"before"`
	RawSteps  []json.RawMessage `json:"steps"`
	RawRest   []json.RawMessage `json:"rest"`
}

// Parts are the steps up to each that is midway, and from the last such to the end.
func (s *Script) Parts() [][]Step {
	parts := [][]Step{nil}
	for _, step := range s.Steps {
		if step.Midway {
			parts = append(parts, nil)
			continue
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], step)
	}
	return parts
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
	Refuse  *Which      `json:"refuse"` // has admission refuse changes of the named object
	Allow   *Which      `json:"allow"`  // ends that
	Watch   *Watch      `json:"watch"`
	Watched *Watched    `json:"watched"`
	Midway  bool        `json:"midway"` // all is at rest: who runs the controllers may be exchanged, see [Script.Parts]
	Look    []Which     `json:"look"`   // takes down what these are now, to be compared like what is there in the end
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
	File    string           `json:"file"` // beside the life, with objects as YAML documents
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

// Delete deletes the first of the objects by name; it waits until there are as many, unless it is to delete all.
type Delete struct {
	Which
	All         bool   `json:"all"`
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

// Watch begins to note what becomes of the pods with a label app, until they are [Watched].
type Watch struct {
	App string `json:"app"`
	// Ordered fails where a pod of a set comes while one before it isn't ready, or begins to go while another isn't
	Ordered bool `json:"ordered"`
	// Nodes bounds how many nodes have a ready pod, and how many have two pods, at any time
	Nodes *Bounds `json:"nodes"`
}

// Bounds are of nodes.
type Bounds struct {
	Ready int `json:"ready"` // so many at least have a ready pod
	Twice int `json:"twice"` // so many at most have two pods
}

// Watched ends it.
type Watched struct {
	App   string `json:"app"`
	Diary string `json:"diary"` // which pods came and went, such as "+web-0 -web-0"; empty for any
}

// Condition is one of objects, events or requests. Of a Deployment, ReplicaSet, ReplicationController, StatefulSet or
// DaemonSet its controller must have seen the present spec besides, unless only something other than the status is said
// of it.
type Condition struct {
	Which
	Absent  bool      `json:"absent"`
	Count   *int      `json:"count"` // how many there are; without, there is one, or all of the selector match
	Event   *Event    `json:"event"` // there is one about the named object, or about one of that kind
	Request *Request  `json:"request"`
	Order   []Request `json:"order"`  // of each there is one, and later than that before it
	Fails   string    `json:"fails"`  // objects of the kind can't be listed, and this is a part of the reason
	Silent  string    `json:"silent"` // this API group doesn't answer, which is known
	Own     *Own      `json:"own"`    // of a metric of Windlass's; under another manager it holds
}

// Own is a metric of Windlass's own, and the sum of what it has with these labels.
type Own struct {
	Metric string            `json:"metric"`
	Labels map[string]string `json:"labels"`
	Value  float64           `json:"value"`
}

// Event is one that a controller has told.
type Event struct {
	Reason  string `json:"reason"`
	Message string `json:"message"` // a part of it
}

// Request is one that the API server has answered: in the script's namespace, or of an object without one.
type Request struct {
	By        string `json:"by"`        // a controller's account
	Namespace string `json:"namespace"` // by default the script's own
	Verb      string `json:"verb"`
	Resource  string `json:"resource"` // with its subresource; "!pods" is any but that
	Path      string `json:"path"`     // a part of it
	Name      string `json:"name"`
	Code      int    `json:"code"`
	AtLeast   int    `json:"atLeast"` // 1 by default
	AtMost    *int   `json:"atMost"`
	Last      bool   `json:"last"`  // in an order: the last such one, rather than the first
	Apart     string `json:"apart"` // in an order: for how long at least after the one before it
}

// further is what a file of a kind is called.
func further(kind string) string { return "life-" + kind + ".yaml" }

// Kinds are those of further files, in order.
func Kinds(lives []*Life) (all []string) {
	for _, l := range lives {
		if l.Kind != "" {
			all = append(all, l.Kind)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Of are the lives of a kind.
func Of(kind string, lives []*Life) (all []*Life) {
	for _, l := range lives {
		if l.Kind == kind {
			all = append(all, l)
		}
	}
	return all
}

// All reads the lives of each plugin's folder that has some.
func All(plugins string) ([]*Life, error) {
	var files []string
	for _, pattern := range []string{FileName, further("*")} {
		some, err := filepath.Glob(filepath.Join(plugins, "*", pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, some...)
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
	kind := strings.TrimPrefix(strings.TrimSuffix(filepath.Base(path), ".yaml"), "life-")
	if filepath.Base(path) == FileName {
		kind = ""
	}
	l, err := decode(b, kind)
	if err == nil {
		err = l.include(filepath.Dir(path))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	l.Plugin = filepath.Base(filepath.Dir(path))
	return l, nil
}

// include reads the files of objects that steps name.
func (l *Life) include(folder string) error {
	for _, s := range l.Scripts() {
		for _, steps := range [][]Step{s.Before, s.Steps} {
			for i := range steps {
				c := steps[i].Create
				if c == nil || c.File == "" {
					continue
				}
				objects, err := readObjects(filepath.Join(folder, c.File))
				if err != nil {
					return err
				}
				c.Objects = append(c.Objects, objects...)
				if err := c.validate(); err != nil {
					return fmt.Errorf("%s: %w", c.File, err)
				}
			}
		}
	}
	return nil
}

// readObjects reads a file of YAML documents.
func readObjects(path string) (all []map[string]any, _ error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for i, document := range strings.Split(string(text), "\n---\n") {
		b, err := yaml.YAMLToJSONStrict([]byte(document))
		if err != nil {
			return nil, fmt.Errorf("%s: document %d: %w", path, i+1, err)
		}
		var o map[string]any
		if err := unmarshal(b, &o); err != nil {
			return nil, fmt.Errorf("%s: document %d: %w", path, i+1, err)
		}
		all = append(all, o)
	}
	return all, nil
}

func decode(text []byte, kind string) (*Life, error) {
	b, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}

	l := &Life{Kind: kind}
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
		case kind == "" && s.RawBefore != nil:
			return nil, fmt.Errorf("scenario %s: before: goes with a further file: a manager runs", s.Name)
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
