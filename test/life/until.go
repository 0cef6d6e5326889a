package life

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/windlass-dev/windlass/test/cluster"
)

// awaitConditions waits until all conditions hold at a time.
func (p *player) awaitConditions(conditions []Condition) {
	p.Helper()
	cluster.Poll(p, interval, patience+p.Longer, p.what, func() (bool, any) {
		for i := range conditions {
			if why := p.lacksCondition(p.Context(), &conditions[i]); why != "" {
				return false, fmt.Sprintf("[%d]: %s", i, why)
			}
		}
		return true, nil
	})
}

// lacksCondition returns what keeps a condition from holding, empty where it does.
func (p *player) lacksCondition(ctx context.Context, c *Condition) string {
	switch {
	case c.Request != nil:
		return p.lacksRequest(c.Request)
	case c.Own != nil:
		return p.lacksOwn(c.Own)
	case c.Silent != "":
		_, _, err := p.Client.Discovery().ServerGroupsAndResources()
		if err == nil || !strings.Contains(err.Error(), c.Silent) {
			return fmt.Sprintf("nothing is amiss with %s: %v", c.Silent, err)
		}
		return ""
	case c.Order != nil:
		return p.lacksOrder(c.Order)
	case c.Event != nil:
		return p.lacksEvent(ctx, c)
	}

	all, err := p.listObjects(ctx, &Which{Kind: c.Kind, Namespace: c.Namespace, Name: c.Name, Selector: c.Selector},
		p.namespace)
	if c.Fails != "" {
		if err == nil || !strings.Contains(err.Error(), c.Fails) {
			return fmt.Sprintf("listing %s gives %v", c.Kind, err)
		}
		return ""
	}

	if err != nil {
		return err.Error()
	}
	if c.Absent {
		if len(all) > 0 {
			return fmt.Sprintf("%s %s is there: %s", c.Kind, c.Name, jsonText(all[0].Object))
		}
		return ""
	}
	if len(all) == 0 && c.Count == nil {
		return fmt.Sprintf("there is no %s %s%s", c.Kind, c.Name, c.Selector)
	}

	n, last := 0, ""
	for _, o := range all {
		why := ""
		if c.Matches == nil || c.Matches["status"] != nil { // what is said of a spec alone may hold where nobody looks at it
			why = unseenGeneration(&o)
		}
		if why == "" {
			why = Matches(c.Matches, o.Object)
		}
		if why == "" {
			n++
			continue
		}
		last = fmt.Sprintf("%s %s: %s; status %s", o.GetKind(), o.GetName(), why, jsonText(o.Object["status"]))
		if c.Count == nil {
			return last
		}
	}

	if c.Count != nil && n != *c.Count {
		return fmt.Sprintf("%d of %s %s%s, not %d; %s", n, c.Kind, c.Name, c.Selector, *c.Count, last)
	}
	return ""
}

// unseenGeneration says that a workload's controller hasn't seen its spec yet.
func unseenGeneration(o *unstructured.Unstructured) string {
	switch o.GetKind() {
	case "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet":
		seen, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
		if seen != o.GetGeneration() {
			return fmt.Sprintf("generation %d, seen is %d", o.GetGeneration(), seen)
		}
	}
	return ""
}

func (p *player) lacksOwn(x *Own) string {
	if p.Own == nil {
		return ""
	}
	n, err := p.Own(p, x.Metric, x.Labels)
	if err != nil || n != x.Value {
		return fmt.Sprintf("%s %v is %v (%v)", x.Metric, x.Labels, n, err)
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
		if p.AnswersLost && e.Type == corev1.EventTypeWarning && strings.Contains(e.Message, "request timed out") {
			return "" // the write was told of as one that failed, and may have been done
		}
		seen = append(seen, e.Reason+": "+e.Message)
	}
	return fmt.Sprintf("no event %s about %s %s: %q", c.Event.Reason, c.Kind, c.Name, seen)
}

func (p *player) lacksRequest(r *Request) string {
	asked := map[string]bool{}
	n := 0
	for _, e := range p.requests(r) {
		object := e.Resource + "/" + e.Namespace + "/" + e.Name
		if p.AnswersLost && e.Name != "" && asked[object] {
			continue
		}
		asked[object] = true
		n++
	}
	if n < max(r.AtLeast, 1) && (r.AtMost == nil || *r.AtMost > 0) || r.AtMost != nil && n > *r.AtMost {
		return fmt.Sprintf("%d requests %s %s %s", n, r.Verb, r.Resource, r.Name)
	}
	return ""
}

// lacksOrder doesn't judge what hasn't been asked yet.
func (p *player) lacksOrder(order []Request) string {
	var before cluster.Event
	for i := range order {
		r := &order[i]
		all := p.requests(r)
		if len(all) == 0 {
			return fmt.Sprintf("order[%d]: no request %s %s %s", i, r.Verb, r.Resource, r.Name)
		}
		this := all[0]
		if r.Last {
			this = all[len(all)-1]
		}
		since := before.Time
		if r.Apart != "" {
			since = before.Received // what it does may be seen before it is answered
		}
		apart, _ := time.ParseDuration(r.Apart) // checked when it was read
		if i > 0 && this.Time.Sub(since) < apart {
			return fmt.Sprintf("%v came %v after %v", this, this.Time.Sub(since), before)
		}
		before = this
	}
	return ""
}

// requests are those that are meant, oldest first.
func (p *player) requests(r *Request) (all []cluster.Event) {
	in := r.Namespace
	if in == "" {
		in = p.namespace
	}
	account := "system:serviceaccount:kube-system:" + r.By
	for _, e := range p.Cluster.Audit(p, cluster.Filter{Verbs: []string{r.Verb}}) {
		home := e.Namespace == in || e.Namespace == "" && r.Namespace == ""
		resource := e.Resource == r.Resource
		if but, is := strings.CutPrefix(r.Resource, "!"); is {
			resource = e.Resource != but
		}
		if home && resource && strings.Contains(e.URI, r.Path) && (r.Name == "" || e.Name == r.Name) &&
			(r.Code == 0 || e.Code == r.Code) && (r.By == "" || e.User == account) {
			all = append(all, e)
		}
	}
	return all
}

// resourceOf returns the client of an object's resource.
func (p *player) resourceOf(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := o.GroupVersionKind()
	return p.resource(gvk.Kind+"."+gvk.Version+"."+gvk.Group, o.GetNamespace())
}
