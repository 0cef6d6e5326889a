package differential

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Known is a difference that is known, with its cause. What the two do otherwise in a sync or come to otherwise at rest
// is taken apart into atoms; it is known where a rule covers each of them.
type Known struct {
	// Controller is the subject that it is about; "": the only one in its folder.
	Controller string `json:"controller,omitempty"`
	// Row is the beginning of the row of docs/differences.md that covers it, and Cause says why it is there. What upstream
	// chooses by chance has no rule: see [Subject.judge].
	Row   string `json:"row"`
	Cause string `json:"cause"`
	// Differs are the atoms that it covers, each as it is printed (see [atom]) or as far as it goes: "object jobs status"
	// stands for every field below, and without upstream or plugin before it for either.
	Differs []string `json:"differs"`
	// When are situations of which one must be there; none: it is known always. A wake-up that upstream's controller alone
	// has is only known to a situation that names it.
	When []Situation `json:"when,omitempty"`
	// GoesOn says that what follows is comparable all the same: the difference leaves nothing behind. Only where a subject
	// is compared at rest, and of metrics.
	GoesOn bool `json:"goesOn,omitempty"`

	seen int
}

// Situation is one in which a difference is known: all that it says must hold.
type Situation struct {
	// Late is whether chance decides what each comes to: caches are late, or something is refused for ever.
	Late bool `json:"late,omitempty"`
	// Woken is a change that has woken upstream's controller and not the plugin, such as "update pods spec.nodeName".
	Woken string `json:"woken,omitempty"`
	// Wrote is a write of upstream's controller's, such as "create jobs fails AlreadyExists".
	Wrote string `json:"wrote,omitempty"`
	// Says is a part of what upstream's controller has written or told, as it is printed.
	Says string `json:"says,omitempty"`
	// With is another atom of the same difference.
	With string `json:"with,omitempty"`
	// Error is a part of an error of upstream's controller's, or of the plugin's.
	Error string `json:"error,omitempty"`
	// Deed is a part of what has been done to the world, such as "update deployments/status is refused for ever".
	Deed string `json:"deed,omitempty"`
	// Told is a part of what the subject says of the objects.
	Told string `json:"told,omitempty"`
	// Kind is that of an object that there is, with a field and its value where they are set; "" is any kind. A dot in a
	// field's name has a \ before it.
	Kind  string `json:"kind,omitempty"`
	Path  string `json:"path,omitempty"`
	Value string `json:"value,omitempty"`
}

// knownFile is where a subject's rules are, in its folder; there may be none.
const knownFile = "known.yaml"

// knowns are the rules on one controller.
type knowns struct {
	rules []*Known
	// early is how many worlds they have ended early.
	early int
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
	other := func(x *Known) bool { return x.Controller != "" && x.Controller != controller }
	return &knowns{rules: slices.DeleteFunc(all, other)}, nil
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

// complete checks a rule.
func (x *Known) complete() error {
	if x.Cause == "" || x.Row == "" || len(x.Differs) == 0 {
		return errors.New("row, cause and differs must be set")
	}
	for _, text := range x.Differs {
		if _, err := parseAtom(text); err != nil {
			return err
		}
	}
	for _, s := range x.When {
		if _, err := parseAtom(s.With); s.With != "" && err != nil {
			return fmt.Errorf("with: %w", err)
		}
		if s == (Situation{}) {
			return errors.New("a situation says something")
		}
		if s.Path == "" && s.Value != "" {
			return errors.New("a value is that of a path")
		}
	}
	return nil
}

// covers reports whether a rule is about an atom.
func (x *Known) covers(a atom) bool {
	return slices.ContainsFunc(x.Differs, func(text string) bool { return isAtom(text)(a) })
}

// isAtom returns whether an atom is one that a text names.
func isAtom(text string) func(atom) bool {
	known, _ := parseAtom(text) // it was checked
	return func(a atom) bool { return (known.by == "" || known.by == a.by) && isPart(known.what, a.what) }
}

// isPart reports whether a text is another one as far as it goes, up to a word or a field of a path; a word * is any.
func isPart(of, text string) bool {
	known, words := strings.Fields(of), strings.Fields(text)
	if len(known) > len(words) {
		return false
	}
	for i, word := range known {
		if rest, ok := strings.CutPrefix(words[i], word); word != "*" && (!ok || rest != "" && rest[0] != '.') {
			return false
		}
	}
	return true
}

// holds reports whether a difference is one in the rule's situation.
func (x *Known) holds(d *Difference) bool {
	if len(x.When) == 0 {
		return d.Kind != "wake"
	}
	return slices.ContainsFunc(x.When, func(s Situation) bool { return s.holds(d) })
}

func (s *Situation) holds(d *Difference) bool {
	has := func(all []string, is func(of, text string) bool, text string) bool {
		return slices.ContainsFunc(all, func(line string) bool { return is(text, line) })
	}
	contains := func(of, text string) bool { return strings.Contains(text, of) }
	switch {
	case s.Late && !d.rested,
		(s.Woken != "" || d.Kind == "wake") && (s.Woken == "" || !has(d.wakings(), isPart, s.Woken)),
		s.Wrote != "" && !has(d.writes, isPart, s.Wrote),
		s.Says != "" && !has(d.theirs.lines, contains, s.Says),
		s.With != "" && !slices.ContainsFunc(d.atoms(), isAtom(s.With)),
		s.Error != "" && !has(d.errors, contains, s.Error),
		s.Deed != "" && !strings.Contains(d.Deed, s.Deed) && !has(d.past, contains, s.Deed),
		!strings.Contains(d.told, s.Told),
		(s.Kind != "" || s.Path != "") && !slices.ContainsFunc(d.objects(), s.isOf):
		return false
	}
	return true
}

// isOf reports whether an object is of the kind and has the value.
func (s *Situation) isOf(o runtime.Object) bool {
	if s.Kind != "" && o.GetObjectKind().GroupVersionKind().Kind != s.Kind {
		return false
	}
	if s.Path == "" {
		return true
	}
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	return err == nil && hasValue(m, fieldsOf(s.Path), s.Value)
}

// fieldsOf returns the names in a path.
func fieldsOf(path string) []string {
	const dot = "\x00"
	names := strings.Split(strings.ReplaceAll(path, `\.`, dot), ".")
	for i := range names {
		names[i] = strings.ReplaceAll(names[i], dot, ".")
	}
	return names
}

// hasValue reports whether there is a value at a path, in any member of a list; "" is any.
func hasValue(v any, path []string, value string) bool {
	switch x := v.(type) {
	case []any:
		return slices.ContainsFunc(x, func(v any) bool { return hasValue(v, path, value) })
	case map[string]any:
		if len(path) > 0 {
			return hasValue(x[path[0]], path[1:], value)
		}
	}
	return len(path) == 0 && v != nil && (value == "" || fmt.Sprint(v) == value)
}

// untold returns what the two did but for events that one of them is always known to tell alone.
func (k *knowns) untold(theirs, ours []string) (a, b []string) {
	rest := func(lines, others []string, by string) []string {
		return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
			if !strings.HasPrefix(line, "event ") || slices.Contains(others, line) {
				return false
			}
			return slices.ContainsFunc(k.rules, func(x *Known) bool {
				known := x.GoesOn && len(x.When) == 0 && x.covers(atom{by, kindOf(line)})
				if known {
					x.seen++
				}
				return known
			})
		})
	}
	return rest(theirs, ours, byUpstream), rest(ours, theirs, byPlugin)
}

// has reports whether a difference is known, and counts it.
func (k *knowns) has(d *Difference) bool {
	d.unknown = nil
	goesOn, rules := true, map[*Known]bool{}
	for _, a := range d.atoms() {
		x := k.on(d, a)
		if x == nil {
			d.unknown = append(d.unknown, a)
			continue
		}
		rules[x] = true
		goesOn = goesOn && x.GoesOn
	}
	if len(d.unknown) > 0 || len(rules) == 0 {
		return false
	}

	d.goesOn = goesOn
	if !d.counted {
		for x := range rules {
			x.seen++
		}
		if !goesOn {
			k.early++
		}
	}
	d.counted = true
	return true
}

// on returns the rule that covers an atom of a difference: rather one after which the world goes on.
func (k *knowns) on(d *Difference, a atom) (found *Known) {
	for _, x := range k.rules {
		if x.covers(a) && x.holds(d) {
			if x.GoesOn {
				return x
			}
			found = x
		}
	}
	return found
}
