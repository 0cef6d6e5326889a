package differential

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/differential/api"
)

// atom is one thing in which the two differ, said without names and values:
//
//	delete pods fails Invalid           a write that one has sent
//	update jobs/status status.active    a field of a write that both have sent
//	object pods                         an object that one has left
//	object pods spec.nodeName           a field of an object that both have left
//	event Job Warning Suspended         an event that one has told
//	event Job Warning Suspended text    one that both have told otherwise
//	metric job_sync_total               a series
//	again, fails, wakes                 a key that is to be synced again at a time, has failed, was woken
//	again sooner, again later           one that the plugin wants synced again at another time than upstream's
//	sum in the end                      another line of the subject's
//	order                               nothing but the order
//	panics, restless, refused           upstream's controller, the plugin, its answer
type atom struct {
	by   string // upstream or plugin, which alone has it; "": both have it otherwise
	what string
}

func (a atom) String() string { return strings.TrimPrefix(a.by+" "+a.what, " ") }

// The two whose doings are compared.
const (
	byUpstream = "upstream"
	byPlugin   = "plugin"
)

// parseAtom returns an atom that is written as it is printed, or the beginning of one.
func parseAtom(text string) (a atom, err error) {
	a.what = text
	for _, by := range []string{byUpstream, byPlugin} {
		if what, ok := strings.CutPrefix(text, by+" "); ok {
			a = atom{by, what}
		}
	}
	first, _, _ := strings.Cut(a.what, " ")
	switch first {
	case "create", "update", "delete", "deletecollection", "object", "event", "metric", "again", "fails", "wakes", "sum",
		"order", "panics", "restless", "refused":
		return a, nil
	}
	return a, fmt.Errorf("differs: %q: begins with no verb, nor with object, event, metric, again, fails, wakes, sum, "+
		"order, panics, restless or refused", text)
}

// atomsOf returns in what two differ, each once.
func atomsOf(theirs, others remains) []atom {
	all := map[atom]bool{}
	a, b := withoutCommon(theirs.lines, others.lines)
	if len(a) == 0 && len(b) == 0 && !slices.Equal(theirs.lines, others.lines) {
		all[atom{what: "order"}] = true
	}

	for _, line := range a {
		head := headOf(line)
		at := slices.IndexFunc(b, func(other string) bool { return headOf(other) == head })
		if at < 0 {
			all[atom{byUpstream, kindOf(line)}] = true
			continue
		}
		for _, what := range unlikeLines(line, b[at]) {
			all[atom{what: what}] = true
		}
		b = slices.Delete(slices.Clone(b), at, at+1)
	}
	for _, line := range b {
		all[atom{byPlugin, kindOf(line)}] = true
	}

	names := maps.Clone(theirs.objects)
	maps.Copy(names, others.objects)
	for name := range names {
		resource, _, _ := strings.Cut(name, " ")
		switch x, y := theirs.objects[name], others.objects[name]; {
		case x == y:
		case y == "":
			all[atom{byUpstream, "object " + resource}] = true
		case x == "":
			all[atom{byPlugin, "object " + resource}] = true
		default:
			for _, path := range unlikePaths(x, y) {
				all[atom{what: "object " + resource + " " + path}] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b atom) int { return strings.Compare(a.String(), b.String()) })
}

// withoutCommon returns the lines that only one of the two has.
func withoutCommon(theirs, others []string) (a, b []string) {
	b = slices.Clone(others)
	for _, line := range theirs {
		if at := slices.Index(b, line); at >= 0 {
			b = slices.Delete(b, at, at+1)
			continue
		}
		a = append(a, line)
	}
	return a, b
}

// headOf is what a line is found by with the other side.
func headOf(line string) string {
	first, _, _ := strings.Cut(line, "\n")
	words := strings.Fields(first)
	switch {
	case strings.HasPrefix(first, "event "):
		first, _, _ = strings.Cut(first, ": ")
	case strings.HasPrefix(first, "metric "):
		first = strings.Join(words[:len(words)-1], " ")
	case strings.Contains(" "+first, " again after "):
		first, _, _ = strings.Cut(first, "again after ")
	}
	return first
}

// kindOf says what a line is without names and values.
func kindOf(line string) string {
	head := headOf(line)
	words := strings.Fields(head)
	switch {
	case len(words) == 0, strings.HasSuffix(" "+head, " again "), strings.Contains(line, "again after "):
		return "again"
	case words[0] == "event" && len(words) == 5:
		return strings.Join([]string{"event", words[1], words[3], words[4]}, " ")
	case words[0] == "metric":
		return strings.Join(words[:2], " ")
	case words[0] == "wakes":
		return words[0]
	case words[len(words)-1] == "fails":
		return "fails"
	case slices.Contains([]string{"create", "update", "delete", "deletecollection"}, words[0]) && words[1] != "of":
		what := words[0] + " " + words[1]
		if _, reason, failed := strings.Cut(head, " fails: "); failed {
			what += " fails " + reason
		}
		if len(words) > 3 && (words[3] == "Foreground" || words[3] == "Orphan") {
			what += " " + words[3]
		}
		return what
	}
	return "sum " + sumOf(head)
}

// sumOf is what a line of a subject's own is about, as in "default/web: in the end IPv4 name: http" or "delete of a
// slice of IPv4".
func sumOf(line string) string {
	if key, rest, ok := strings.Cut(line, ": "); ok && strings.Contains(key, "/") {
		line = rest
	}
	_, reason, failed := strings.Cut(line, " fails: ")
	for _, end := range []string{" of ", " IPv", ":"} {
		line, _, _ = strings.Cut(line, end)
	}
	if failed {
		return line + " fails " + reason
	}
	return line
}

// unlikeLines returns in what two lines of one head differ.
func unlikeLines(a, b string) (all []string) {
	kind := kindOf(a)
	switch word, _, _ := strings.Cut(kind, " "); word {
	case "event":
		return []string{kind + " text"}
	case "create", "update", "sum":
		for _, path := range unlikePaths(after(a), after(b)) {
			all = append(all, kind+" "+path)
		}
		return all
	case "again":
		return []string{kind + " " + sooner(a, b)}
	}
	return []string{kind}
}

// sooner says how the second of two times at which a key is to be synced again is to the first.
func sooner(a, b string) string {
	_, first, _ := strings.Cut(a, "again after ")
	_, second, _ := strings.Cut(b, "again after ")
	x, err := time.ParseDuration(first)
	y, err2 := time.ParseDuration(second)
	if err == nil && err2 == nil && y < x {
		return "sooner"
	}
	return "later"
}

func after(line string) string {
	_, rest, _ := strings.Cut(line, "\n")
	return rest
}

// unlikePaths returns the paths at which two objects, or lists of them, differ.
func unlikePaths(a, b string) []string {
	x, y := strings.Split(a, "---\n"), strings.Split(b, "---\n")
	if len(x) != len(y) {
		return []string{"number"}
	}
	all := map[string]bool{}
	for i := range x {
		var p, q any
		if yaml.Unmarshal([]byte(x[i]), &p) != nil || yaml.Unmarshal([]byte(y[i]), &q) != nil {
			all["text"] = true
			continue
		}
		unlikeValues("", p, q, all)
	}
	if len(all) == 0 {
		all["text"] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// unlikeValues adds the paths below one at which two values differ.
func unlikeValues(path string, a, b any, all map[string]bool) {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			if b != nil || path != "" {
				all[path] = true
				return
			}
			y = map[string]any{}
		}

		names := maps.Clone(x)
		maps.Copy(names, y)
		for name := range names {
			unlikeValues(strings.TrimPrefix(path+"."+name, "."), x[name], y[name], all)
		}
		return
	case []any:
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				unlikeValues(path, x[i], y[i], all)
			}
			return
		}
	}
	if fmt.Sprint(a) != fmt.Sprint(b) {
		all[path] = true
	}
}

// sentBy returns the writes that a cluster was sent, without names, and how they have failed.
func sentBy(requests []*api.Request) (all []string) {
	for _, q := range requests {
		if !q.Writes() {
			continue
		}
		what := nameless(q)
		if q.Err != nil {
			what += " fails " + string(apierrors.ReasonForError(q.Err))
		}
		all = append(all, what)
	}
	return all
}

// nameless says what a write does without saying to which object, as in "update jobs/status"; which of update and patch
// it is is a matter of rights and rules.
func nameless(q *api.Request) string {
	what := strings.Replace(q.Verb, "patch", "update", 1) + " " + q.Resource.Resource
	if q.Subresource != "" {
		what += "/" + q.Subresource
	}
	return what
}

// wakings say what has woken upstream's controller alone.
func (d *Difference) wakings() (all []string) {
	for _, m := range d.missed {
		resource := m.change.Resource.Resource
		switch {
		case m.change.Old == nil:
			all = append(all, "create "+resource)
		case m.change.New == nil:
			all = append(all, "delete "+resource)
		default:
			for _, path := range unlikePaths(text(m.change.Old), text(m.change.New)) {
				all = append(all, "update "+resource+" "+path)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// atoms are in what the two differ.
func (d *Difference) atoms() []atom {
	switch d.Kind {
	case "panic":
		return []atom{{byUpstream, "panics"}}
	case "rest":
		return []atom{{byPlugin, "restless"}}
	case "answer":
		return []atom{{byPlugin, "refused"}}
	}
	return atomsOf(d.theirs, d.others)
}
