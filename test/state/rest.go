package state

import (
	"fmt"
	"strings"
)

// Unrest names something that is still to change in an undisturbed namespace, or is empty.
func (s State) Unrest() string {
	for key, o := range s {
		kind, _, _ := strings.Cut(key, " ")
		if why := whyUnsettled(kind, object(o.(map[string]any))); why != "" {
			return key + ": " + why
		}
		for _, r := range object(o.(map[string]any)).list("metadata", "ownerReferences") {
			owner := fmt.Sprint(r["kind"], " ", r["name"], " 0")
			if _, ok := s[owner]; !ok && r["controller"] == true && r["kind"] != "Service" && r["kind"] != "Endpoints" {
				return key + ": its owner is gone"
			}
		}
	}
	return ""
}

// object is one out of JSON.
type object map[string]any

func (o object) get(path ...string) any {
	var v any = map[string]any(o)
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

// number is 0 where there is none, as the API has it.
func (o object) number(path ...string) float64 {
	n, _ := o.get(path...).(float64)
	return n
}

func (o object) list(path ...string) (all []object) {
	l, _ := o.get(path...).([]any)
	for _, v := range l {
		if m, ok := v.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

func (o object) condition(name string) bool {
	for _, c := range o.list("status", "conditions") {
		if c["type"] == name && c["status"] == "True" {
			return true
		}
	}
	return false
}

func whyUnsettled(kind string, o object) string {
	if o.get("metadata", "deletionTimestamp") != nil {
		return "it is being deleted"
	}
	want := func(n float64, fields ...string) string {
		for _, f := range fields {
			if got := o.number("status", f); got != n {
				return fmt.Sprintf("%s is %v, not %v", f, got, n)
			}
		}
		return ""
	}

	switch kind {
	case "Deployment":
		if o.get("spec", "paused") == true {
			return want(o.number("spec", "replicas"), "replicas", "availableReplicas")
		}
		return want(o.number("spec", "replicas"), "replicas", "availableReplicas", "updatedReplicas")
	case "ReplicaSet":
		return want(o.number("spec", "replicas"), "replicas", "availableReplicas")
	case "StatefulSet":
		if o.get("status", "currentRevision") != o.get("status", "updateRevision") {
			return "it is being updated"
		}
		return want(o.number("spec", "replicas"), "replicas", "availableReplicas", "updatedReplicas")
	case "DaemonSet":
		n := o.number("status", "desiredNumberScheduled")
		if n == 0 {
			return "no pod is wanted yet"
		}
		return want(n, "numberAvailable", "updatedNumberScheduled")
	case "Job":
		if !o.condition("Complete") {
			return "it is not complete"
		}
	case "Pod":
		if o.get("status", "phase") != "Succeeded" && !o.condition("Ready") {
			return "it is not ready"
		}
	}

	return ""
}
