package differential

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/host/record"
)

// Some of upstream's controllers need several syncs for what the plugin does in one: they wait until their caches show
// what they have written, fail on a version of their own, and are woken again. They are compared at rest: each works on
// a cluster of its own and sees what it has written there until nothing wakes it any more. Upstream's begins with the
// keys that either was woken for, the plugin with its own alone, so that a wake-up that never comes is a difference of
// what is left.

// restingSide is one of the two controllers while it works by itself.
type restingSide struct {
	cluster *api.Cluster
	sync    func(key string) (native.Result, error)
	show    func(*api.Change) ([]string, error)
	last    map[string]native.Result // of each key
	due     map[string]time.Time     // when keys were to be synced again before
	failed  map[string]int           // in a row
	events  []string
	syncs   int
	story   []string // what each sync did
}

const (
	restMost  = 40 // syncs of one restingSide in a step
	failsMost = 3  // of a key in a row
)

// work has a restingSide sync keys until none is left to be synced. The fault, if there is one, lasts for a key until
// one of its syncs has met it: which of them that is hangs on what each side does in one sync.
func (s *restingSide) work(keys []string, f *fault, of *Subject) error {
	met := map[string]bool{}
	keys = slices.Clone(keys)
	for n := 0; len(keys) > 0 && n < restMost; n++ {
		key := keys[0]
		s.cluster.Fault = nil
		if f != nil && !met[key] {
			fails := f.begin(of)
			s.cluster.Fault = func(r *api.Request) error {
				err := fails(r)
				met[key] = met[key] || err != nil
				return err
			}
		}
		keys = keys[1:]
		seen := len(s.cluster.Requests)
		r, err := s.sync(key)
		if err != nil {
			return err
		}
		s.tell(key, r, s.cluster.Requests[seen:])
		s.syncs++
		s.last[key] = r
		s.events = append(s.events, r.Events...)
		changes, err := s.cluster.Changes()
		if err != nil {
			return err
		}
		var woken []string
		for i := range changes {
			more, err := s.show(&changes[i])
			if err != nil {
				return err
			}
			woken = append(woken, more...)
		}
		if s.failed[key]++; !r.Failed {
			s.failed[key] = 0
			if r.Again > 0 && r.Again < time.Millisecond {
				woken = append(woken, key) // at once, in other words
			}
		} else if s.failed[key] < failsMost {
			woken = append(woken, key)
		}
		for _, k := range woken {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	s.cluster.Fault = nil
	return nil
}

// tell takes down what a sync did.
func (s *restingSide) tell(key string, r native.Result, requests []*api.Request) {
	text := "sync " + key
	for _, q := range requests {
		if !q.Writes() {
			continue
		}
		if text += "; " + q.String(); q.Err != nil {
			text += " fails: " + string(apierrors.ReasonForError(q.Err))
		}
	}
	if r.Failed {
		text += "; fails"
	}
	s.story = append(s.story, text)
}

// rest has both controllers work until they rest, and compares what is left.
func (p *play) rest(keys []string) (*Difference, error) {
	before := p.difference("sync", strings.Join(keys, ", "), "")
	var ourKeys []string
	for _, key := range keys {
		if p.missed[key] == "" {
			ourKeys = append(ourKeys, key)
		}
	}
	r := p.rand(p.step*100 + 50)
	f := p.fault(r)
	if f != nil {
		before.Deed += ", " + f.String()
	}
	theirs := &restingSide{cluster: p.cluster.Clone(), due: p.due, last: map[string]native.Result{}, failed: map[string]int{}}
	theirs.sync = func(key string) (native.Result, error) { return p.native.Sync(key), nil }
	theirs.show = func(c *api.Change) ([]string, error) {
		keys, err := p.native.Show(c, false)
		p.native.Reached(c.Version)
		for i := range keys {
			keys[i] = p.subject.key(keys[i])
		}
		return keys, err
	}
	ours := &restingSide{cluster: p.cluster.Clone(), due: p.due, last: map[string]native.Result{}, failed: map[string]int{}}
	ours.sync = func(key string) (native.Result, error) { return p.plugin.Sync(key) }
	ours.show = func(c *api.Change) ([]string, error) {
		keys, err := p.plugin.Show(c, false)
		p.plugin.Reached(c.Version)
		return keys, err
	}

	p.native.Begin()
	theirs.cluster.Forgiving = p.subject.Forgiving
	p.native.On(theirs.cluster)
	if err := theirs.work(keys, f, p.subject); err != nil {
		return nil, err
	}
	p.plugin.On(ours.cluster)
	if err := ours.work(ourKeys, f, p.subject); err != nil {
		before.Kind, before.Text = "answer", "the plugin's answer is refused: "+err.Error()
		return before, nil
	}
	p.syncs += theirs.syncs + ours.syncs

	names := p.subject.alike(p.cluster)
	p.subject.rename(theirs, names)
	p.subject.rename(ours, names)
	still := unchanged(p.cluster, theirs.cluster, ours.cluster)
	a, b := p.subject.left(theirs, names, still), p.subject.left(ours, names, still)
	if text := differ(a, b); text != "" {
		before.Text = text + p.missing()
		for _, line := range theirs.story {
			before.past = append(before.past, "upstream's: "+line)
		}
		for _, line := range ours.story {
			before.past = append(before.past, "the plugin: "+line)
		}
		// Where the plugin comes to the same when it is woken for all these keys, a wake-up is what was missing; then
		// it may ask to be woken otherwise.
		moved := differ(a.still(), b.still()) != ""
		synced := union(keys, slices.Collect(maps.Keys(theirs.last)))
		if err := ours.work(synced, nil, p.subject); err != nil {
			before.Kind, before.Text = "answer", "the plugin's answer is refused: "+err.Error()
			return before, nil
		}
		p.subject.rename(ours, names)
		still = unchanged(p.cluster, theirs.cluster, ours.cluster)
		a, b = p.subject.left(theirs, names, still), p.subject.left(ours, names, still)
		if differ(a, b) == "" || moved && differ(a.still(), b.still()) == "" {
			before.Kind = "wake"
		}
		before.Text += errorsOf("upstream's", theirs) + errorsOf("the plugin's", ours) + p.native.Note(synced)
		if !p.known(before) || !before.goesOn {
			return before, nil
		}
	}
	for _, line := range a.lines {
		p.past = append(p.past, fmt.Sprintf("%s step %d: %s", time.Now().UTC().Format(time.TimeOnly), p.step, line))
	}
	clear(p.missed)
	clear(p.woken)
	for key, r := range theirs.last {
		if delete(p.due, key); r.Again > 0 || r.Failed {
			p.due[key] = time.Now().Add(r.Again) // a key that fails is tried again before the next thing happens
		}
	}
	theirs.cluster.Requests, theirs.cluster.Forgiving = nil, false
	p.cluster = theirs.cluster
	return nil, p.plugin.Load(p.cluster)
}

func errorsOf(whose string, s *restingSide) (text string) {
	for _, key := range slices.Sorted(maps.Keys(s.last)) {
		if err := s.last[key].Err; err != nil {
			text += fmt.Sprintf("\n%s error for %s: %v", whose, key, err)
		}
	}
	return text
}

// missing tells which events woke only upstream's controller.
func (p *play) missing() string {
	text := ""
	for _, key := range slices.Sorted(maps.Keys(p.missed)) {
		text += "\n" + p.missed[key]
	}
	return text
}

// remains is what a restingSide has left behind: which objects it has written, its events, which keys fail or are to be
// synced again; and all objects as text by resource and name.
type remains struct {
	lines   []string
	objects map[string]string
}

// still is what remains but for what a key has asked for by itself.
func (r remains) still() remains {
	timer := func(line string) bool { return strings.Contains(line, " again after ") }
	return remains{slices.DeleteFunc(slices.Clone(r.lines), timer), r.objects}
}

// rename adds the names that objects which a side has created go by.
func (s *Subject) rename(x *restingSide, names map[string]string) {
	for _, q := range x.cluster.Requests {
		if !q.Writes() {
			continue
		}
		write(q, names)
		if m, ok := q.Sent.(metav1.Object); ok && q.Verb == "create" && m.GetGenerateName() != "" {
			names[q.Name] = m.GetGenerateName() + "*"
		}
		if s.Renames != nil && q.Verb == "create" && q.Err == nil {
			maps.Copy(names, s.Renames(q.Answer))
		}
	}
}

func (s *Subject) left(x *restingSide, names map[string]string, still map[types.UID]string) remains {
	var all []string
	for _, q := range x.cluster.Requests {
		if !q.Writes() || q.Err != nil || q.Subresource == "status" {
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
	all = append(all, events...)
	all = append(all, x.ends()...)
	for i := range all {
		all[i] = s.normal(all[i], names)
	}
	slices.Sort(all)
	return remains{slices.Compact(all), s.texts(x.cluster, names, still)}
}

// planned reports whether an event tells of a fault that was planned: which sync meets it is a matter of how many there
// are.
func planned(event string) bool {
	return strings.Contains(event, " Warning ") &&
		(strings.Contains(event, "exceeded quota") || strings.Contains(event, "out of order") || strings.Contains(event, " is invalid"))
}

// ends tells which keys fail, or are to be synced again by their own wish; a key that wasn't synced still has its
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

// texts returns a cluster's objects by resource and name; those that have one name by rule are one text.
func (s *Subject) texts(c *api.Cluster, names map[string]string, still map[types.UID]string) map[string]string {
	lists := map[string][]string{}
	for _, gvr := range sorted(c) {
		list, err := c.List(gvr)
		if err != nil {
			continue
		}
		for _, o := range list {
			m := o.(metav1.Object)
			if version, ok := still[m.GetUID()]; ok && version == m.GetResourceVersion() {
				continue
			}
			name := s.normal(gvr.Resource+" "+strings.TrimPrefix(m.GetNamespace()+"/"+m.GetName(), "/"), names)
			lists[name] = append(lists[name], s.normal(text(o), names))
		}
	}
	out := map[string]string{}
	for name, list := range lists {
		slices.Sort(list)
		out[name] = strings.Join(list, "---\n")
	}
	return out
}

// unchanged returns the versions of the objects that neither side has touched, by their UIDs: there is no need to
// compare these, which are most of a world.
func unchanged(before *api.Cluster, sides ...*api.Cluster) map[types.UID]string {
	still := versions(before)
	for _, c := range sides {
		now := versions(c)
		maps.DeleteFunc(still, func(uid types.UID, version string) bool { return now[uid] != version })
	}

	return still
}

func versions(c *api.Cluster) map[types.UID]string {
	all := map[types.UID]string{}
	for _, o := range objectsOf(c) {
		if m := o.(metav1.Object); m.GetUID() != "" {
			all[m.GetUID()] = m.GetResourceVersion()
		}
	}

	return all
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
