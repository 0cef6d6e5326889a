package differential

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/host/record"
)

// lines tells what a sync did, in an order that doesn't depend on chance: a run of writes of one verb to one resource is
// sorted, for upstream sends such writes side by side.
func (s *Subject) lines(key string, before, after *api.Cluster, r native.Result, alike map[string]string) ([]string, error) {
	names := maps.Clone(alike)
	var writes []string
	var kinds []string
	requests := slices.DeleteFunc(slices.Clone(after.Requests), func(q *api.Request) bool { return !q.Writes() })
	var loose []string
	if s.Loosen != nil {
		var err error
		if requests, loose, err = s.Loosen(key, before, after, requests); err != nil {
			return nil, err
		}
	}
	for _, q := range requests {
		line := write(q, names)
		if q.Err != nil && slices.Contains(writes, line) {
			continue // a status tried again at once, or one more of a batch none of whose members can be made
		}
		kinds = append(kinds, q.Verb+" "+q.Resource.Resource+"/"+q.Subresource)
		writes = append(writes, line)
	}
	events := slices.Clone(r.Events)
	for _, list := range [][]string{writes, events, loose} {
		for i := range list {
			list[i] = s.normal(list[i], names)
		}
	}
	for i := 0; i < len(kinds); {
		end := i + 1
		for end < len(kinds) && kinds[end] == kinds[i] {
			end++
		}
		slices.Sort(writes[i:end])
		i = end
	}
	slices.Sort(events)
	events = slices.CompactFunc(events, func(a, b string) bool { return a == b && strings.Contains(a, " Warning ") }) // as failed attempts
	all := slices.Concat(loose, writes, events)
	if r.Failed {
		return append(all, "fails"), nil
	}
	if r.Again > 0 {
		all = append(all, fmt.Sprintf("again after %s", r.Again))
	}
	return all, nil
}

// alike gives the names of objects that a controller may take for one another to one name: which of them it takes is a
// matter of chance with upstream's, that reads them from maps.
func (s *Subject) alike(c *api.Cluster) map[string]string {
	names := map[string]string{}
	if s.Alike == nil {
		return names
	}
	first := map[string]string{}
	for _, gvr := range sorted(c) {
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
				first[class] = fmt.Sprintf("<alike %d>", len(first)+1)
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
	if s.Normal != nil {
		line = s.Normal(line)
	}
	return line
}

// replaceName replaces a name where it isn't part of a longer one.
func replaceName(line, name, other string) string {
	part := func(i int) bool {
		return i >= 0 && i < len(line) && (line[i] == '-' || line[i] >= '0' && line[i] <= '9' || line[i] >= 'a' && line[i] <= 'z')
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

// write tells of a request that writes: what it was about and what came of it.
func write(q *api.Request, names map[string]string) string {
	what := q.Verb
	if what == "patch" {
		what = "update" // which of them is a matter of rights and rules
	}
	line := what + " " + q.Resource.Resource
	if q.Subresource != "" {
		line += "/" + q.Subresource
	}
	line += " " + strings.TrimPrefix(q.Namespace+"/"+q.Name, "/")
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
	m, err := fields(q.Resource.GroupVersion(), o)
	if err != nil {
		return line + " " + err.Error()
	}
	meta, _ := m["metadata"].(map[string]any)
	if q.Namespace != "" {
		meta["namespace"] = q.Namespace
	}
	if g, _ := meta["generateName"].(string); g != "" && q.Verb == "create" {
		if name, _ := meta["name"].(string); name != "" {
			names[name] = g + "*"
		}
		if q.Name != "" {
			line = strings.Replace(line, q.Name, "", 1)
		}
		delete(meta, "name")
	}
	b, err := yaml.Marshal(m)
	if err != nil {
		return line + " " + err.Error()
	}
	return line + "\n" + string(b)
}

// fields are an object's without those that only the server sets.
func fields(gv schema.GroupVersion, o runtime.Object) (map[string]any, error) {
	v, err := api.External(o, gv)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	m := map[string]any{}
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, err
	}
	delete(m, "kind")
	delete(m, "apiVersion")
	if meta, ok := m["metadata"].(map[string]any); ok {
		for _, name := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
			delete(meta, name)
		}
	}
	return m, nil
}

// compare returns how two syncs differ; nothing if they don't.
func compare(theirs, ours []string) string {
	return record.Diff(strings.Join(theirs, "\n")+"\n", strings.Join(ours, "\n")+"\n")
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
	a, _ := fields(c.Resource.GroupVersion(), c.Old)
	b, _ := fields(c.Resource.GroupVersion(), c.New)
	x, _ := yaml.Marshal(a)
	y, _ := yaml.Marshal(b)
	return fmt.Sprintf("%s %s %s\n%s\n", verb, c.Resource.Resource, name, record.Diff(string(x), string(y)))
}

func sorted(c *api.Cluster) []schema.GroupVersionResource {
	all := c.Resources()
	slices.SortFunc(all, func(a, b schema.GroupVersionResource) int { return strings.Compare(a.String(), b.String()) })
	return all
}
