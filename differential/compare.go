package differential

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/host/record"
)

// lines reports what a sync did, in an order that doesn't depend on chance: a run of writes of one verb to one resource
// is sorted, for upstream sends such writes side by side. The clusters are as the sync found and left them.
func (s *Subject) lines(key string, before, c *api.Cluster, r native.Result, alike map[string]string) ([]string,
	error) {
	names := map[string]string{}
	maps.Copy(names, alike)
	requests := writesOf(c)
	for _, q := range requests {
		named(q, names)
	}
	var loose []string
	if s.Loosen != nil {
		var err error
		if requests, loose, err = s.Loosen(key, before, c, requests); err != nil {
			return nil, err
		}
	}

	var writes []string
	var kinds, asides []string
	for _, q := range requests {
		if s.empty(q, names) {
			continue
		}
		line := write(q, names)
		if q.Err != nil && slices.Contains(writes, line) {
			continue // a status tried again at once, or one more of a batch none of whose members can be made
		}
		kind := strings.Replace(q.Verb, "patch", "update", 1) + " " + q.Resource.Resource + "/" + q.Subresource
		if q.Verb == "deletecollection" && q.Resource.Resource != "pods" {
			kind = q.Verb // upstream takes the resources as a map has them, but for pods
		}
		kinds = append(kinds, kind)
		writes = append(writes, line)
		aside := ""
		if s.Aside != nil {
			aside = s.Aside(c, q)
		}
		asides = append(asides, aside)
	}

	events := slices.Clone(r.Events)
	if s.Untold != nil {
		events = slices.DeleteFunc(events, s.Untold)
	}
	for _, list := range [][]string{writes, events, loose} {
		for i := range list {
			list[i] = s.normal(list[i], names)
		}
	}

	for i := range asides { // of objects that are alike either may be meant
		for name, other := range names {
			asides[i] = replaceName(asides[i], name, other)
		}
	}

	group(asides, kinds, writes)
	for i := 0; i < len(kinds); {
		end := i + 1
		for end < len(kinds) && kinds[end] == kinds[i] {
			end++
		}
		slices.SortStableFunc(writes[i:end], func(a, b string) int { return strings.Compare(place(a), place(b)) })
		i = end
	}

	slices.Sort(events)
	// as failed attempts
	events = slices.CompactFunc(events, func(a, b string) bool { return a == b && strings.Contains(a, " Warning ") })
	all := slices.Concat(loose, writes, events)
	woken := slices.Clone(r.Woken)
	slices.Sort(woken)
	for _, key := range slices.Compact(woken) {
		all = append(all, "wakes "+key)
	}

	if r.Failed {
		return append(all, "fails"), nil
	}
	if r.Again > 0 {
		all = append(all, fmt.Sprintf("again after %s", r.Again))
	}
	return all, nil
}

// place returns what a write is sorted by: the object it changes, for writes to one object have an order that counts.
// What is created has no name to go by.
func place(write string) string {
	if strings.HasPrefix(write, "create ") {
		return write
	}
	head, _, _ := strings.Cut(write, "\n")
	object, _, _ := strings.Cut(head, " fails: ")
	return object
}

// writesOf returns the requests that were meant to change something, and neither did nothing nor were made anew.
func writesOf(c *api.Cluster) (all []*api.Request) {
	for i, q := range c.Requests {
		if q.Writes() && !idle(q) && !(apierrors.IsConflict(q.Err) && again(q, c.Requests[i+1:])) {
			all = append(all, q)
		}
	}
	return all
}

// idle reports whether an update was accepted and has changed nothing: the host doesn't send such.
func idle(q *api.Request) bool {
	return q.Err == nil && !q.Changed && (q.Verb == "update" || q.Verb == "patch")
}

// empty reports whether a write has changed nothing but what may differ by chance: the order of a set.
func (s *Subject) empty(q *api.Request, names map[string]string) bool {
	if q.Err != nil || q.Old == nil || q.Verb != "update" && q.Verb != "patch" || q.Subresource == "scale" {
		return false
	}
	v, err := api.External(q.Answer, api.Version(q.Resource, q.Subresource))
	if err != nil || setsOf[reflect.TypeOf(v)] == nil {
		return false
	}
	before := *q
	before.Answer = q.Old
	return s.normal(write(&before, maps.Clone(names)), names) == s.normal(write(q, maps.Clone(names)), names)
}

// again reports whether a request is repeated later: one that met a conflict and is made anew has done nothing.
func again(q *api.Request, later []*api.Request) bool {
	return slices.ContainsFunc(later, func(l *api.Request) bool { return l.String() == q.String() })
}

// group brings writes that are done beside others together by what they are for, each in its order, and makes their
// kinds those of what they are for.
func group(asides, kinds, writes []string) {
	for i := 0; i < len(asides); i++ {
		end := i
		for end < len(asides) && asides[end] != "" {
			end++
		}
		order := make([]int, end-i)
		for j := range order {
			order[j] = i + j
		}
		slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(asides[a], asides[b]) })
		k, w := slices.Clone(kinds), slices.Clone(writes)
		for j, from := range order {
			kinds[i+j], writes[i+j] = asides[from]+" "+k[from], w[from]
		}
		i = end
	}
}

// alike returns the names of objects that a controller may take for one another to one name: which of them it takes is
// a matter of chance with upstream's, that reads them from maps.
func (s *Subject) alike(c *api.Cluster) map[string]string {
	names := map[string]string{}
	if s.Alike == nil {
		return names
	}

	first := map[string]string{}
	for _, gvr := range c.Resources() {
		all, err := c.List(gvr)
		if err != nil {
			continue
		}
		for _, o := range all {
			class := s.Alike(o)
			if class == "" {
				continue
			}
			name := o.(metav1.Object).GetName()
			if _, ok := first[class]; !ok {
				first[class] = fmt.Sprintf(alikeName+"%d>", len(first)+1)
			}
			names[name] = first[class]
		}
	}

	single := map[string]bool{}
	for name, class := range names {
		single[name] = count(names, class) == 1
	}
	maps.DeleteFunc(names, func(name, _ string) bool { return single[name] })
	return names
}

// alikeName is how a name begins that stands for those of objects which are alike.
const alikeName = "<alike "

func isAlike(name string) bool { return strings.HasPrefix(name, alikeName) }

func count(names map[string]string, class string) (n int) {
	for _, c := range names {
		if c == class {
			n++
		}
	}
	return n
}

func (s *Subject) normal(line string, names map[string]string) string {
	for name, other := range names {
		line = replaceName(line, name, other)
	}
	if strings.Contains(line, "kube-api-access-") { // which takes a tenth of looking by the expression
		line = tokenVolume.ReplaceAllString(line, "kube-api-access-*")
	}
	if strings.HasPrefix(line, "event ") {
		line = listed.ReplaceAllStringFunc(line, inOrder)
	}
	return line
}

// listed is a list in an event's text, such as that of several errors: upstream's controllers make most from a map.
var listed = regexp.MustCompile(`\[[^\[\]]*, [^\[\]]*\]`)

// inOrder returns a list in the order of its members, each once.
func inOrder(list string) string {
	all := strings.Split(strings.Trim(list, "[]"), ", ")
	slices.Sort(all)
	return "[" + strings.Join(slices.Compact(all), ", ") + "]"
}

// tokenVolume is the volume for a pod's token, which the server names at random.
var tokenVolume = regexp.MustCompile(`\bkube-api-access-[a-z0-9]{5}\b`)

// replaceName replaces a name where it isn't part of a longer one; one of digits alone with the quotes that it has in
// YAML.
func replaceName(line, name, other string) string {
	if strings.Trim(name, "0123456789") == "" {
		line = strings.ReplaceAll(line, `: "`+name+`"`, ": "+name)
	}
	part := func(i int) bool {
		return i >= 0 && i < len(line) && (line[i] == '-' || line[i] >= '0' && line[i] <= '9' || line[i] >= 'a' &&
			line[i] <= 'z')
	}
	for at := 0; ; {
		i := strings.Index(line[at:], name)
		if i < 0 {
			return line
		}
		i += at
		if part(i-1) || part(i+len(name)) {
			at = i + len(name)
			continue
		}
		line = line[:i] + other + line[i+len(name):]
		at = i + len(other)
	}
}

// named takes down what stands for the name that a server has made up.
func named(q *api.Request, names map[string]string) {
	for _, o := range []runtime.Object{q.Answer, q.Sent} {
		if m, ok := o.(metav1.Object); ok && m.GetGenerateName() != "" && q.Generated() {
			if name := cmp.Or(m.GetName(), q.Name); name != "" {
				names[name] = m.GetGenerateName() + "*"
				return
			}
		}
	}
}

// write reports a request that writes: what it was about and what came of it.
func write(q *api.Request, names map[string]string) string {
	line := nameless(q) + " " + strings.TrimPrefix(q.Namespace+"/"+q.Name, "/")
	if d := q.Delete; d != nil {
		if d.PropagationPolicy != nil {
			line += " " + string(*d.PropagationPolicy)
		}
		if d.GracePeriodSeconds != nil {
			line += fmt.Sprintf(" grace %d", *d.GracePeriodSeconds)
		}
	}

	o := q.Answer
	if q.Err != nil {
		line += " fails: " + string(apierrors.ReasonForError(q.Err))
		o = q.Sent
	}
	if q.Delete != nil || o == nil {
		return line
	}

	v, err := api.External(o, api.Version(q.Resource, q.Subresource))
	if err != nil {
		return line + " " + err.Error()
	}

	generated := q.Generated()
	if generated {
		m := v.(metav1.Object)
		if m.GetName() != "" {
			names[m.GetName()] = m.GetGenerateName() + "*"
		}
		if q.Name != "" {
			line = strings.Replace(line, q.Name, "", 1)
		}
	}

	as := fmt.Sprint(q.Namespace, generated, q.Err != nil, q.Subresource)
	text := func(v runtime.Object) string {
		return printObject(v, as, func(m map[string]any) {
			if q.Err != nil {
				trim(m, q.Subresource)
			}
			meta, _ := m["metadata"].(map[string]any)
			if q.Namespace != "" {
				meta["namespace"] = q.Namespace
			}
			if generated {
				delete(meta, "name")
			}
		})
	}
	if !isAlike(names[q.Name]) || q.Old == nil {
		return line + "\n" + text(v)
	}
	old, err := api.External(q.Old, api.Version(q.Resource, q.Subresource))
	if err != nil {
		return line + " " + err.Error()
	}
	return line + "\n" + changedLines(text(old), text(v))
}

// changedLines returns the lines that a change of a text has taken away and added: of an object that may be taken for
// another one only these are compared, for the two needn't be the same in all.
func changedLines(old, new string) string {
	all := strings.SplitAfter(record.Diff(old, new), "\n")
	return strings.Join(slices.DeleteFunc(all, func(line string) bool {
		return !strings.HasPrefix(line, "-") && !strings.HasPrefix(line, "+")
	}), "")
}

// trim leaves of an object that was sent what the server would have looked at.
func trim(m map[string]any, subresource string) {
	switch subresource {
	case "status":
		delete(m, "spec")
	default:
		delete(m, "status")
	}
}

// compare returns how two syncs differ; nothing if they don't.
func compare(theirs, ours []string) string {
	return record.Diff(strings.Join(theirs, "\n")+"\n", strings.Join(ours, "\n")+"\n")
}

// summary is what a sync did without the objects.
func summary(lines []string) string {
	var short []string
	for _, line := range lines {
		first, _, _ := strings.Cut(line, "\n")
		short = append(short, first)
	}
	if len(short) == 0 {
		return "nothing"
	}
	return strings.Join(short, "; ")
}

// missed is a change that wakes upstream's controller for a key, and not the plugin. It is printed where it is to be
// told of, for that takes long.
type missed struct {
	change *api.Change
	wakes  string
	ours   []string // for what it wakes the plugin
}

func (m *missed) String() string {
	return fmt.Sprintf("%s wakes upstream's controller for %s, and the plugin for %v", changed(m.change), m.wakes, m.ours)
}

// changed names a change.
func changed(c *api.Change) string {
	o, verb := c.New, "a change of"
	switch {
	case c.Old == nil:
		verb = "the coming of"
	case c.New == nil:
		o, verb = c.Old, "the end of"
	}
	name := ""
	if m, ok := o.(interface{ GetName() string }); ok {
		name = m.GetName()
	}
	if c.Old == nil || c.New == nil {
		return fmt.Sprintf("%s %s %s", verb, c.Resource.Resource, name)
	}
	return fmt.Sprintf("%s %s %s\n%s\n", verb, c.Resource.Resource, name, record.Diff(text(c.Old), text(c.New)))
}
