package simulator

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// State is what a cluster holds, in a form that two runs can be compared in: without versions, times and UIDs,
// generated names cut down to what they were made from.
type State []string

// normalState normalises what the cluster holds.
func (r *run) normalState() State {
	objects, kinds := r.cluster.everything()
	var replace []string
	uids := map[string]string{}
	for _, o := range objects {
		name := o.GetName()
		if g := o.GetGenerateName(); g != "" && strings.HasPrefix(name, g) && len(name) > len(g) {
			replace = append(replace, name, g+"*")
			name = g + "*"
		}
		uids[string(o.GetUID())] = "uid of " + o.GetKind() + " " + name
	}

	// Longer names first: one may begin with another.
	pairs := [][2]string{}
	for i := 0; i < len(replace); i += 2 {
		pairs = append(pairs, [2]string{replace[i], replace[i+1]})
	}

	slices.SortFunc(pairs, func(a, b [2]string) int { return len(b[0]) - len(a[0]) })
	replace = replace[:0]
	for _, p := range pairs {
		replace = append(replace, p[0], p[1])
	}

	names := strings.NewReplacer(replace...)
	var s State
	for i, o := range objects {
		if r.foreigners(o) {
			continue
		}
		m := deepCopy(o.Object).(map[string]any)
		normalise(m, kinds[i])
		b, err := json.Marshal(anonymise(m, names, uids, "").(map[string]any))
		if err != nil {
			continue // what came from JSON can be written
		}
		y, err := yaml.JSONToYAML(b)
		if err != nil {
			continue
		}
		s = append(s, string(y))
	}
	slices.Sort(s)
	return s
}

// foreigners reports whether an object is a bystander, or belongs to one.
func (r *run) foreigners(o *Object) bool {
	if r.stands[o.GetUID()] != nil {
		return true
	}
	for _, ref := range o.GetOwnerReferences() {
		if owner, _ := r.cluster.findByUID(ref.UID); r.stands[ref.UID] != nil || owner != nil && r.foreigners(owner) {
			return true
		}
	}
	return false
}

// normalise takes out what differs from run to run for no reason of the plugin's.
func normalise(m map[string]any, k *kind) {
	meta, _ := m["metadata"].(map[string]any)
	for _, f := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields",
		"deletionGracePeriodSeconds"} {
		delete(meta, f)
	}

	for _, f := range []string{"annotations", "labels"} {
		if of, ok := meta[f].(map[string]any); ok {
			for name := range of {
				if name == touched || name == foreign {
					delete(of, name)
				}
			}
			if len(of) == 0 {
				delete(meta, f)
			}
		}
	}

	if status, ok := m["status"].(map[string]any); ok {
		delete(status, "observedGeneration")
		if conditions, ok := status["conditions"].([]any); ok {
			for _, c := range conditions {
				if c, ok := c.(map[string]any); ok {
					delete(c, "observedGeneration")
				}
			}
		}
		if k.Resource == pods {
			for _, f := range []string{"podIP", "podIPs", "startTime"} {
				delete(status, f)
			}
		}
		if len(status) == 0 {
			delete(m, "status")
		}
	}
}

var (
	instant = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)
	uidForm = regexp.MustCompile(`[0-9a-f]{8}-0000-4000-8000-[0-9]{12}`) // as newUID makes them; names may hold them
	address = regexp.MustCompile(`^10\.0\.\d+\.\d+$`)
)

// anonymise replaces names, UIDs, times and addresses in a value. Lists of objects are sorted but in specs, where order
// has a meaning.
func anonymise(v any, names *strings.Replacer, uids map[string]string, path string) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if k == "resourceVersion" && v["uid"] != nil {
				continue // of a reference
			}
			out[names.Replace(k)] = anonymise(x, names, uids, path+"."+k)
		}
		return out

	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = anonymise(x, names, uids, path)
		}
		if !strings.HasPrefix(path, ".spec") {
			slices.SortStableFunc(out, func(a, b any) int { return strings.Compare(marshalText(a), marshalText(b)) })
		}
		return out

	case string:
		if u, ok := uids[v]; ok {
			return u
		}
		v = uidForm.ReplaceAllStringFunc(v, func(u string) string {
			if of, ok := uids[u]; ok {
				return of
			}
			return "<uid>" // of something that is gone
		})
		switch {
		case instant.MatchString(v):
			return "<time>"
		case address.MatchString(v):
			return "<address>"
		}
		return names.Replace(v)
	}
	return v
}

func marshalText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
