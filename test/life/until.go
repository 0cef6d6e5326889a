package life

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/windlass-dev/windlass/test/cluster"
)

// await waits until all conditions hold at a time.
func (p *player) await(conditions []Condition) {
	p.Helper()
	cluster.Eventually(p, patience, p.what, func(ctx context.Context) (bool, any) {
		for i := range conditions {
			if why := p.lacks(ctx, &conditions[i]); why != "" {
				return false, fmt.Sprintf("[%d]: %s", i, why)
			}
		}
		return true, nil
	})
}

// lacks returns what keeps a condition from holding, empty where it does.
func (p *player) lacks(ctx context.Context, c *Condition) string {
	switch {
	case c.Request != nil:
		return p.lacksRequest(c.Request)
	case c.Event != nil:
		return p.lacksEvent(ctx, c)
	}
	all, err := p.list(ctx, &Which{Kind: c.Kind, Namespace: c.Namespace, Name: c.Name, Selector: c.Selector}, p.namespace)
	if err != nil {
		return err.Error()
	}
	if c.Absent {
		if len(all) > 0 {
			return fmt.Sprintf("%s %s is there: %s", c.Kind, c.Name, text(all[0].Object))
		}
		return ""
	}
	if len(all) == 0 && c.Count == nil {
		return fmt.Sprintf("there is no %s %s%s", c.Kind, c.Name, c.Selector)
	}
	n, last := 0, ""
	for _, o := range all {
		why := unseen(&o)
		if why == "" {
			why = Matches(c.Matches, o.Object)
		}
		if why == "" {
			n++
			continue
		}
		last = fmt.Sprintf("%s %s: %s; status %s", o.GetKind(), o.GetName(), why, text(o.Object["status"]))
		if c.Count == nil {
			return last
		}
	}
	if c.Count != nil && n != *c.Count {
		return fmt.Sprintf("%d of %s %s%s, not %d; %s", n, c.Kind, c.Name, c.Selector, *c.Count, last)
	}
	return ""
}

// unseen says that a workload's controller hasn't seen its spec yet.
func unseen(o *unstructured.Unstructured) string {
	switch o.GetKind() {
	case "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet":
		seen, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
		if seen != o.GetGeneration() {
			return fmt.Sprintf("generation %d, seen is %d", o.GetGeneration(), seen)
		}
	}
	return ""
}

func (p *player) lacksEvent(ctx context.Context, c *Condition) string {
	in := p.namespace
	if c.Namespace != "" {
		in = c.Namespace
	}
	about := "involvedObject.kind=" + c.Kind
	if c.Name != "" {
		about += ",involvedObject.name=" + c.Name
	}
	l, err := p.Client.CoreV1().Events(in).List(ctx, metav1.ListOptions{FieldSelector: about})
	if err != nil {
		return err.Error()
	}
	var seen []string
	for _, e := range l.Items {
		if e.Reason == c.Event.Reason && strings.Contains(e.Message, c.Event.Message) {
			return ""
		}
		seen = append(seen, e.Reason+": "+e.Message)
	}
	return fmt.Sprintf("no event %s about %s %s: %q", c.Event.Reason, c.Kind, c.Name, seen)
}

func (p *player) lacksRequest(r *Request) string {
	n := 0
	for _, e := range p.Audit.Events(p) {
		if e.Namespace == p.namespace && e.Verb == r.Verb && e.Resource == r.Resource &&
			(r.Name == "" || e.Name == r.Name) && (r.Code == 0 || e.Code == r.Code) {
			n++
		}
	}
	if n < max(r.AtLeast, 1) {
		return fmt.Sprintf("%d requests %s %s %s", n, r.Verb, r.Resource, r.Name)
	}
	return ""
}

// of has the object among its kind.
func (p *player) of(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := o.GroupVersionKind()
	return p.resource(gvk.Kind+"."+gvk.Version+"."+gvk.Group, o.GetNamespace())
}
