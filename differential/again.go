package differential

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/differential/api"
)

// What upstream's controller may come to is a set, for it takes keys as its workers get to them, objects as its maps
// have them, and changes as its caches show them. Where a world differs, upstream's controller is played again in the
// same situation, each time in another order; the plugin is right where it has come to one of the ends that there are.

const (
	// replays is how often upstream's controller is played anew in the situation in which the two have differed, and as
	// often again where only one of the plays comes to the plugin's end.
	replays = 40
	// triesMost bounds the plays of a world, for by chance it comes to another situation.
	triesMost = 10 * replays
)

// situation is what the plugin had before it and what it did.
type situation struct {
	step  int
	key   string
	world uint64 // its objects before; 0 where it is one of metrics, which are a whole step's
	ours  uint64 // its objects with what the plugin has done
}

// outcome is what upstream's controller has come to in a situation, beside the plugin.
type outcome struct {
	alike  bool           // in all that is compared
	ends   bool           // in the objects that are left
	theirs uint64         // its objects
	lines  []string       // what it wrote, and its events
	writes map[string]int // how often it has changed something, by verb and resource
}

// replay is a script's play in another order, which looks for a situation.
type replay struct {
	situation
	order uint64 // another one is another order
	came  bool   // the situation has
	known bool   // it has come to a known difference
	outcome
}

// met notes in what situation the two differ or, where the one that the script looks for has come again, what
// upstream's controller comes to in it. It reports whether nothing that follows is of interest.
func (p *play) met(d *Difference, before, ours *api.Cluster, o func() outcome, alike bool) bool {
	if !alike {
		d.found = situation{step: d.Step, key: d.Key, world: digest(before), ours: digest(ours)}
		d.outcome = o()
	}
	want := p.script.replay
	if want == nil || d.Step != want.step || d.Key != want.key || digest(before) != want.world ||
		digest(ours) != want.ours {
		return false
	}
	want.came, want.outcome = true, o()
	return alike
}

// knows reports whether a difference is a known one. If it is, in the situation that the script looks for, then
// upstream's controller has come to something else there than before.
func (p *play) knows(d *Difference) bool {
	if !p.known(d) {
		return false
	}
	if want := p.script.replay; want != nil && want.world != 0 && d.found == want.situation {
		want.known = true
	}
	return true
}

// digest returns a hash of all objects of a cluster, 0 of none. Names that were made up for objects, and these objects'
// UIDs, are other ones in each play; versions hang on the order in which upstream's controller writes.
func digest(c *api.Cluster) uint64 {
	if c == nil {
		return 0
	}
	made := madeUp(c)
	var texts []string
	for _, o := range objectsOf(c) {
		text, err := json.Marshal(o)
		if err != nil {
			panic(err) // an object of Kubernetes' own types
		}
		texts = append(texts, versions.ReplaceAllString(made.Replace(string(text)), ""))
	}

	slices.Sort(texts)
	h := fnv.New64a()
	for _, text := range texts {
		_, _ = h.Write([]byte(text)) // it can't fail
	}
	return h.Sum64()
}

// changesOf returns how often requests have changed something, by verb and resource.
func changesOf(requests []*api.Request) map[string]int {
	n := map[string]int{}
	for _, q := range requests {
		if q.Writes() && q.Err == nil && q.Changed {
			n[nameless(q)]++
		}
	}
	return n
}

// madeUp replaces the made-up names and the UIDs of a cluster's objects by what they are made from.
func madeUp(c *api.Cluster) *strings.Replacer {
	var names []string
	for _, o := range objectsOf(c) {
		if m := o.(metav1.Object); m.GetGenerateName() != "" {
			names = append(names, m.GetName(), m.GetGenerateName(), string(m.GetUID()), "uid-of-"+m.GetGenerateName())
		}
	}
	return strings.NewReplacer(names...)
}

// linesOf returns lines that can be compared with those of other plays.
func linesOf(before *api.Cluster, lines []string) (all []string) {
	made := madeUp(before)
	for _, line := range lines {
		all = append(all, made.Replace(line))
	}
	return all
}

var versions = regexp.MustCompile(`"resourceVersion":"\d+"`)

// verdict is what upstream's other plays say of a difference.
type verdict string

// judged is a verdict, and why it is that.
type judged struct {
	verdict verdict
	why     string
}

const (
	differs verdict = "differs"
	right   verdict = "one of upstream's outcomes"
	// undecided is that upstream's outcomes differ among themselves, and that of those played none is the plugin's, or
	// only one.
	undecided verdict = "undecided"
)

// judge plays a world in which the two have differed anew, and says what that shows of the plugin.
func (s *Subject) judge(t *testing.T, server *api.Server, d *Difference, known func(*Difference) bool) (v verdict,
	why string, err error) {
	if d.verdict != "" {
		return d.verdict, d.why, nil
	}
	var plays []outcome
	different := 0
	seldom := func() bool { return howMany(plays, func(o *outcome) bool { return o.ends }) == 1 }

	for i := uint64(0); i < triesMost && (len(plays) < replays || len(plays) < 2*replays && seldom()); i++ {
		x := d.script.until(d.Step)
		x.replay = &replay{situation: d.found, order: i + 1}
		n, _, err := s.inBubble(t, server, x, known)
		if err != nil {
			return "", "", err
		}
		if n != nil {
			different++
		}
		switch {
		case x.replay.known:
			return right, "", nil
		case x.replay.came:
			plays = append(plays, x.replay.outcome)
		}
		if howMany(plays, func(o *outcome) bool { return o.alike }) > 1 {
			return right, "", nil
		}
	}

	if different == 0 { // what upstream's controller had come to before was chance already
		return right, "", nil
	}
	if v, why = d.among(plays); v == differs && len(plays) < replays/2 {
		v = undecided // what upstream's controller does before hangs so much on chance that its outcomes can't be known
	}
	return v, why, nil
}

func howMany(all []outcome, is func(*outcome) bool) (n int) {
	for i := range all {
		if is(&all[i]) {
			n++
		}
	}
	return n
}

// among says what plays of upstream's controller in the situation of a difference show of it. What all of them do the
// plugin has to do, and it may do nothing that none does; why says of a difference what the plays have shown.
func (d *Difference) among(plays []outcome) (v verdict, why string) {
	all := append(slices.Clone(plays), d.outcome)
	for _, line := range d.ours {
		if howMany(all, func(o *outcome) bool { return slices.Contains(o.lines, line) }) == 0 {
			return differs, "none of upstream's plays does this: " + line
		}
	}
	for _, line := range d.outcome.lines {
		lack := func(o *outcome) bool { return !slices.Contains(o.lines, line) }
		if !slices.Contains(d.ours, line) && howMany(all, lack) == 0 {
			return differs, "each of upstream's plays does this: " + line
		}
	}

	for _, what := range slices.Sorted(maps.Keys(d.changes)) {
		most := 0
		for _, o := range all {
			most = max(most, o.writes[what])
		}
		if d.changes[what] > most {
			return differs, fmt.Sprintf("the plugin has sent %d of %s, and none of upstream's plays more than %d",
				d.changes[what], what, most)
		}
	}

	ends := howMany(plays, func(o *outcome) bool { return o.ends })
	states := map[uint64]bool{}
	for _, o := range all {
		states[o.theirs] = true
	}
	switch {
	case ends > 1:
		return right, ""
	case len(states) > 1:
		return undecided, fmt.Sprintf("of upstream's %d plays %d come to the plugin's end", len(plays), ends)
	}
	return differs, fmt.Sprintf("upstream's %d plays come to one end", len(plays))
}
