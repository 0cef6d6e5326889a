package differential

import (
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Known is a difference that is known, with its cause.
type Known struct {
	Controller string `json:"controller"`
	// Kind is sync, wake, answer, metrics, end, panic (of upstream's controller) or rest (the plugin goes on and on, and
	// upstream's doesn't); late is either of the first two where caches are late, or where it is chance what comes before
	// a write that is refused for ever. A rule of kind text says that a part of a line may be another one: see Match.
	Kind string `json:"kind"`
	// Match is a regular expression that the difference's text matches; its first line, too, begins after a \n. Of a rule
	// of text it is one that a write, an event or an object matches, as it is printed: what its groups match is compared
	// with nothing, and all else still is.
	Match string `json:"match"`
	// AnyOrder says of a rule of text that what its groups match are lists with commas whose order is chance; they are
	// compared as sets.
	AnyOrder bool `json:"anyOrder,omitempty"`
	// Did is a regular expression that what upstream's controller did matches, too, with the error that a sync of its
	// ended with, where it had one; it may be left out.
	Did string `json:"did,omitempty"`
	// Deed is a regular expression that what had just happened matches; it may be left out.
	Deed string `json:"deed,omitempty"`
	// World is one that the objects match, as they are printed; it may be left out.
	World string `json:"world,omitempty"`
	// Cause says why it is there.
	Cause string `json:"cause"`
	// Row is the beginning of the row of docs/differences.md that covers it. Chance says instead that no row could:
	// upstream chooses at random, or races with itself, or the comparison does. It is one of the two.
	Row    string `json:"row,omitempty"`
	Chance bool   `json:"chance,omitempty"`
	// GoesOn says that what follows is comparable all the same: the difference leaves nothing behind. Only where a subject
	// is compared at rest, and of metrics.
	GoesOn bool `json:"goesOn,omitempty"`

	expression, did, deed, world *regexp.Regexp
}

//go:embed known.yaml
var knownFile []byte

// knowns are the rules on one controller.
type knowns struct {
	rules, texts []*Known
	seen         map[string]int
}

// readKnown returns the rules on one controller.
func readKnown(controller string) (*knowns, error) {
	all, err := parseKnown(knownFile)
	if err != nil {
		return nil, fmt.Errorf("known.yaml: %w", err)
	}

	k := &knowns{seen: map[string]int{}}
	for _, x := range all {
		switch {
		case x.Controller != controller:
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
	switch {
	case x.Cause == "" || x.Match == "" || x.Kind == "" || x.Controller == "":
		return errors.New("controller, kind, match and cause must be set")
	case (x.Row == "") != x.Chance:
		return errors.New("either it names a row of docs/differences.md, or it says chance: true")
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
	if ofText := x.Kind == "text"; ofText && x.expression.NumSubexp() == 0 || !ofText && x.AnyOrder {
		return errors.New("a rule of text, and no other, has groups in its match that are compared otherwise")
	}
	return nil
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
					line = line[:from] + x.inPlaceOf(line[from:to]) + line[to:]
				}
			}
		}
	}
	return line
}

// inPlaceOf returns what is compared in the place of what a group has matched.
func (x *Known) inPlaceOf(text string) string {
	if !x.AnyOrder {
		return "*"
	}
	all := strings.Split(text, ", ")
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
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
