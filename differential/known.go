package differential

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Known is a difference that is known, with its cause: an event that only one of the two tells, or one that is
// recognised by its text.
type Known struct {
	Controller string `json:"controller"`
	// Event is the kind of the object, the type and the reason of an event, as in "Job Warning Suspended", and Only who
	// tells it where the other doesn't, upstream or plugin: it isn't compared.
	Event string `json:"event,omitempty"`
	Only  string `json:"only,omitempty"`
	// Kind is sync, wake, answer, metrics, end, panic (of upstream's controller) or rest (the plugin goes on and on, and
	// upstream's doesn't); late is either of the first two where caches are late, or where it is chance what comes before
	// a write that is refused for ever. A rule of kind text says that a part of a line may be another one: see Match.
	Kind string `json:"kind,omitempty"`
	// Match is a regular expression that the difference's text matches; its first line, too, begins after a \n. Of a rule
	// of text it is one that a write, an event or an object matches, as it is printed: what its groups match is compared
	// with nothing, and all else still is.
	Match string `json:"match,omitempty"`
	// Did is a regular expression that what upstream's controller did matches, too, with the error that a sync of its
	// ended with, where it had one; it may be left out.
	Did string `json:"did,omitempty"`
	// Deed is a regular expression that what had just happened matches; it may be left out.
	Deed string `json:"deed,omitempty"`
	// World is one that the objects match, as they are printed; it may be left out.
	World string `json:"world,omitempty"`
	// Cause says why it is there.
	Cause string `json:"cause"`
	// Row is the beginning of the row of docs/differences.md that covers it. What upstream chooses by chance has no rule:
	// see [Subject.judge].
	Row string `json:"row"`
	// GoesOn says that what follows is comparable all the same: the difference leaves nothing behind. Only where a subject
	// is compared at rest, and of metrics.
	GoesOn bool `json:"goesOn,omitempty"`

	expression, did, deed, world *regexp.Regexp
}

// knownFile is where a subject's rules are, in its folder; there may be none.
const knownFile = "known.yaml"

// knowns are the rules on one controller.
type knowns struct {
	rules, texts, events []*Known
	seen                 map[string]int
}

// readKnown returns the rules on one controller, of the folder in which its test runs.
func readKnown(controller string) (*knowns, error) {
	file, err := os.ReadFile(knownFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	all, err := parseKnown(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", knownFile, err)
	}

	k := &knowns{seen: map[string]int{}}
	for _, x := range all {
		switch {
		case x.Controller != controller:
		case x.Event != "":
			k.events = append(k.events, x)
		case x.Kind == "text":
			k.texts = append(k.texts, x)
		default:
			k.rules = append(k.rules, x)
		}
	}
	return k, nil
}

// parseKnown returns the rules of a file, or what is wrong with the first bad one.
func parseKnown(file []byte) ([]*Known, error) {
	var all []*Known
	if err := yaml.UnmarshalStrict(file, &all); err != nil {
		return nil, err
	}

	for i, x := range all {
		if err := x.complete(); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
	}
	return all, nil
}

// complete checks a rule and compiles its expressions.
func (x *Known) complete() error {
	if x.Controller == "" || x.Cause == "" || x.Row == "" {
		return errors.New("controller, cause and row must be set")
	}
	if x.Event != "" {
		if len(strings.Fields(x.Event)) != 3 || x.Only != "upstream" && x.Only != "plugin" || x.Kind != "" || x.Match != "" {
			return errors.New("a rule of an event has its kind, type and reason, and only: upstream or plugin, and no more")
		}
		return nil
	}
	if x.Kind == "" || x.Match == "" || x.Only != "" {
		return errors.New("a rule of a text has kind and match")
	}

	for _, e := range []struct {
		text string
		to   **regexp.Regexp
	}{{x.Match, &x.expression}, {x.Did, &x.did}, {x.Deed, &x.deed}, {x.World, &x.world}} {
		compiled, err := regexp.Compile(e.text)
		if err != nil {
			return err
		}
		*e.to = compiled
	}
	if x.Kind == "text" && x.expression.NumSubexp() == 0 {
		return errors.New("a rule of text has groups in its match that are compared with nothing")
	}
	return nil
}

// untold returns what the two did but for events that rules know only one of them to tell.
func (k *knowns) untold(theirs, ours []string) (a, b []string) {
	rest := func(lines, others []string, who string) []string {
		if len(k.events) == 0 {
			return lines
		}
		return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
			return !slices.Contains(others, line) && slices.ContainsFunc(k.events, func(x *Known) bool {
				known := x.Only == who && x.isEvent(line)
				if known {
					k.seen[x.Cause]++
				}
				return known
			})
		})
	}
	return rest(theirs, ours, "upstream"), rest(ours, theirs, "plugin")
}

// isEvent reports whether a line is the rule's event.
func (x *Known) isEvent(line string) bool {
	head, _, _ := strings.Cut(line, ": ")
	f := strings.Fields(head) // event KIND NAMESPACE/NAME TYPE REASON
	return len(f) == 5 && f[0] == "event" && x.Event == f[1]+" "+f[3]+" "+f[4]
}

// loosened returns a line without what rules of text let differ.
func (k *knowns) loosened(line string) string {
	for _, x := range k.texts {
		found := x.expression.FindAllStringSubmatchIndex(line, -1)
		if found == nil {
			continue
		}
		k.seen[x.Cause]++
		for _, at := range slices.Backward(found) {
			for group := len(at)/2 - 1; group > 0; group-- {
				if from, to := at[2*group], at[2*group+1]; from >= 0 {
					line = line[:from] + "*" + line[to:]
				}
			}
		}
	}
	return line
}

func (x *Known) recognises(d *Difference) bool {
	if x.Kind != d.Kind && (x.Kind != "late" || !d.rested || d.Kind == "rest") {
		return false
	}
	return (x.expression.MatchString(d.Text) || x.expression.MatchString("\n"+d.Text)) &&
		x.did.MatchString(d.did) && x.deed.MatchString(d.Deed) && (x.World == "" || x.world.MatchString(d.String()))
}

// has reports whether a difference is a known one, or made of known ones, and counts it.
func (k *knowns) has(d *Difference) bool {
	if k.is(d) {
		return true
	}
	d.goesOn = true
	for _, part := range d.parts {
		if !k.is(part) {
			return false
		}
		d.goesOn = d.goesOn && part.goesOn
	}
	return len(d.parts) > 0
}

func (k *knowns) is(d *Difference) bool {
	for _, x := range k.rules {
		if x.recognises(d) {
			if !d.counted {
				k.seen[x.Cause]++
			}
			d.counted, d.goesOn = true, x.GoesOn
			return true
		}
	}
	return false
}

// ended returns how many worlds known differences have ended early.
func (k *knowns) ended() (n int) {
	for _, x := range k.rules {
		if !x.GoesOn {
			n += k.seen[x.Cause]
		}
	}
	return n
}
