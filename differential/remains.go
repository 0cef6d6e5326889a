package differential

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/host/record"
)

// remains is what a restingSide has left behind: which objects it has written, its events, which keys fail or are to be
// synced again; and the objects that are other ones with the other side, as text by resource and name.
type remains struct {
	lines   []string
	objects map[string]string
}

// still is what remains but for what a key has asked for by itself.
func (r remains) still() remains { return r.without(" again after ") }

// without leaves out lines that contain a text.
func (r remains) without(text string) remains {
	has := func(line string) bool { return strings.Contains(line, text) }
	return remains{slices.DeleteFunc(slices.Clone(r.lines), has), r.objects}
}

// rename adds the names that objects which requests have created go by.
func (s *Subject) rename(requests []*api.Request, names map[string]string) {
	for _, q := range requests {
		if !q.Writes() {
			continue
		}
		named(q, names)
		if m, ok := q.Sent.(metav1.Object); ok && q.Verb == "create" && q.Name != "" && m.GetGenerateName() != "" {
			names[q.Name] = m.GetGenerateName() + "*"
		}
		if s.Renames != nil && q.Verb == "create" && q.Err == nil {
			maps.Copy(names, s.Renames(q.Answer))
		}
	}
}

// remain returns what each has left behind.
func (p *play) remain(theirs, ours *restingSide, names map[string]string) (a, b remains, err error) {
	unlike, err := api.Unlike(theirs.cluster, ours.cluster)
	if err != nil {
		return a, b, err
	}
	if a, err = p.subject.left(theirs, names, unlike[0]); err != nil {
		return a, b, err
	}
	if b, err = p.subject.left(ours, names, unlike[1]); err != nil {
		return a, b, err
	}
	a.lines, b.lines = p.subject.known.untold(a.lines, b.lines)
	return a, b, nil
}

func (s *Subject) left(x *restingSide, names map[string]string, unlike []api.Stored) (remains, error) {
	var all []string
	for _, q := range x.cluster.Requests {
		if !q.Writes() || q.Err != nil || idle(q) || q.Subresource == "status" || s.summed(q.Resource) {
			continue
		}
		verb := q.Verb
		if verb == "patch" {
			verb = "update"
		}
		name := q.Name
		if m, ok := q.Answer.(metav1.Object); ok && q.Verb == "create" {
			name = m.GetName()
		}
		all = append(all, fmt.Sprintf("%s %s %s", verb, q.Resource.Resource, name))
	}

	events := slices.DeleteFunc(slices.Clone(x.events), planned)
	if s.Events != nil {
		events = s.Events(events)
	}
	if s.Untold != nil {
		events = slices.DeleteFunc(events, s.Untold)
	}
	all = append(all, events...)
	all = append(all, x.ends()...)
	for i := range all {
		all[i] = s.normal(all[i], names)
	}
	slices.Sort(all)
	left := remains{slices.Compact(all), s.texts(unlike, names)}
	if s.Sum == nil {
		return left, nil
	}
	sum, err := s.Sum(x.cluster)
	left.lines = append(left.lines, sum...)
	return left, err
}

// summed reports whether Sum says what objects of a resource come to.
func (s *Subject) summed(r schema.GroupVersionResource) bool { return s.Sum != nil && r == s.SumOf }

// planned reports whether an event tells of a fault that was planned: which sync meets it is a matter of how many there
// are.
func planned(event string) bool {
	return strings.Contains(event, " Warning ") &&
		(strings.Contains(event, "exceeded quota") || strings.Contains(event, "out of order") ||
			strings.Contains(event, " is invalid"))
}

// ends reports which keys fail, or are to be synced again by their own wish; a key that wasn't synced still has its
// former one.
func (x *restingSide) ends() (all []string) {
	for key, r := range x.last {
		if r.Failed {
			all = append(all, key+" fails")
		} else if r.Again > 0 {
			all = append(all, fmt.Sprintf("%s again after %s", key, r.Again))
		}
	}
	for key, at := range x.due {
		if _, ok := x.last[key]; !ok {
			all = append(all, fmt.Sprintf("%s again after %s", key, time.Until(at)))
		}
	}
	return all
}

// texts returns objects by resource and name; those that have one name by rule are one text.
func (s *Subject) texts(objects []api.Stored, names map[string]string) map[string]string {
	lists := map[string][]string{}
	for _, x := range objects {
		if s.summed(x.Resource) {
			continue
		}
		m := x.Object.(metav1.Object)
		name := s.normal(x.Resource.Resource+" "+strings.TrimPrefix(m.GetNamespace()+"/"+m.GetName(), "/"), names)
		lists[name] = append(lists[name], s.normal(text(s.shaped(x.Object)), names))
	}
	out := map[string]string{}
	for name, list := range lists {
		slices.Sort(list)
		out[name] = strings.Join(list, "---\n")
	}
	return out
}

// differ returns how what the two have left behind differs; nothing if it doesn't.
func differ(theirs, ours remains) string {
	out := compare(theirs.lines, ours.lines)
	all := maps.Clone(theirs.objects)
	maps.Copy(all, ours.objects)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if a, b := theirs.objects[name], ours.objects[name]; a != b {
			out += fmt.Sprintf("\nobject %s\n%s", name, record.Diff(a, b))
		}
	}
	return out
}

// missing reports which events woke only upstream's controller for some keys.
func (p *play) missing(keys []string) string {
	text := ""
	for _, key := range slices.Sorted(slices.Values(keys)) {
		if event := p.missed[key]; event != nil {
			text += "\n" + event.String()
		}
	}
	return text
}
