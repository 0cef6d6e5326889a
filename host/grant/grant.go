// Package grant tells what an operator allows a plugin to read and write.
//
// A manifest says what a plugin needs; a grant narrows that. It is judged object by object: by resource and verb, by
// namespace, and by labels, which a rule may choose objects by.
package grant

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema"
)

// Rule allows verbs on resources, in namespaces and on objects with labels. Its fields are those of config.Rule, which
// says what each means; a grant is judged without knowing the configuration's form.
type Rule struct {
	APIGroups  []string
	Resources  []string
	Verbs      []string
	Namespaces []string
	Selector   metav1.LabelSelector
}

// Grant is what an operator allows a plugin. A nil Grant allows everything.
type Grant struct{ rules []rule }

type rule struct {
	Rule
	selector labels.Selector
}

// New compiles rules; none at all (nil, not an empty list) are no Grant. An error names the rule whose selector is
// none.
func New(rules []Rule) (*Grant, error) {
	if rules == nil {
		return nil, nil
	}
	g := &Grant{}
	for i, r := range rules {
		s, err := metav1.LabelSelectorAsSelector(&r.Selector)
		if err != nil {
			return nil, fmt.Errorf("grant[%d].selector: %w", i, err)
		}
		g.rules = append(g.rules, rule{r, s})
	}
	return g, nil
}

// Request is what is asked of a grant.
type Request struct {
	Verb        string
	Resource    abi.Resource
	Subresource string
	// Namespace is empty for objects in no namespace, and for requests for all namespaces.
	Namespace string
	// Name is needed for namespaces alone, which are in themselves.
	Name string
}

// String is the request as a rule would have to cover it.
func (r Request) String() string {
	name := r.Resource.Name
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}
	where := ""
	if ns := r.effectiveNamespace(); ns != "" {
		where = fmt.Sprintf(", namespaces: [%s]", ns)
	}
	return fmt.Sprintf("apiGroups: [%q], resources: [%s], verbs: [%s]%s", r.Resource.Group, name, r.Verb, where)
}

// effectiveNamespace returns the namespace that the request counts as in.
func (r Request) effectiveNamespace() string {
	if isNamespaces(r.Resource) {
		return r.Name
	}
	return r.Namespace
}

func isNamespaces(r abi.Resource) bool { return r.Group == "" && r.Name == "namespaces" }

// hasVerbs reports whether the rule has the verb on the resource, wherever.
func (r *rule) hasVerbs(resource abi.Resource, subresource string, verbs ...string) bool {
	if !slices.Contains(r.APIGroups, "*") && !slices.Contains(r.APIGroups, resource.Group) {
		return false
	}
	full, any := resource.Name, "*"
	if subresource != "" {
		full, any = resource.Name+"/"+subresource, "*/"+subresource
	}
	if !slices.ContainsFunc(r.Resources, func(s string) bool { return s == "*" || s == full || s == any }) {
		return false
	}
	for _, v := range verbs {
		if !slices.Contains(r.Verbs, "*") && !slices.Contains(r.Verbs, v) {
			return false
		}
	}
	return true
}

func (r *rule) coversRequest(q Request) bool {
	return r.hasVerbs(q.Resource, q.Subresource, q.Verb) &&
		(len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, q.effectiveNamespace()))
}

// Answer is what a grant says to a request: yes, no, or that it is for the object's labels to say.
type Answer struct {
	// Allowed: whatever the labels are.
	Allowed bool
	// Selectors are those of rules one of which an object's labels have to match, none if it isn't allowed at all.
	Selectors []labels.Selector
}

// Matches reports whether an object with these labels is covered.
func (a Answer) Matches(l labels.Set) bool {
	return a.Allowed || slices.ContainsFunc(a.Selectors, func(s labels.Selector) bool { return s.Matches(l) })
}

// Denied reports that no labels would do.
func (a Answer) Denied() bool { return !a.Allowed && len(a.Selectors) == 0 }

// Ask judges a request.
func (g *Grant) Ask(q Request) Answer {
	if g == nil {
		return Answer{Allowed: true}
	}
	var a Answer
	for i := range g.rules {
		r := &g.rules[i]
		if !r.coversRequest(q) {
			continue
		}
		if r.selector.Empty() {
			return Answer{Allowed: true}
		}
		a.Selectors = append(a.Selectors, r.selector)
	}
	return a
}

// Anywhere reports whether the verbs are allowed on some object of the resource, by one rule.
func (g *Grant) Anywhere(r abi.Resource, subresource string, verbs ...string) bool {
	if g == nil {
		return true
	}
	return slices.ContainsFunc(g.rules, func(x rule) bool { return x.hasVerbs(r, subresource, verbs...) })
}

// watching are the verbs that it takes to have an object in a view.
var watching = []string{"list", "watch"}

// Reads reports whether views on the resource can hold anything. Views over all resources can where any resource can be
// read.
func (g *Grant) Reads(r abi.Resource) bool {
	if g == nil || r != schema.Any {
		return g.Anywhere(r, "", watching...)
	}
	return slices.ContainsFunc(g.rules, func(x rule) bool {
		return (slices.Contains(x.Verbs, "*") || slices.Contains(x.Verbs, "list") && slices.Contains(x.Verbs, "watch")) &&
			slices.ContainsFunc(x.Resources, func(s string) bool { return !strings.Contains(s, "/") })
	})
}

// Covers reports whether an object may be in views.
func (g *Grant) Covers(o *cache.Object) bool {
	if g == nil {
		return true
	}
	var l labels.Set
	in := o.Namespace
	if isNamespaces(o.Resource.Resource) {
		in = o.Name
	}

	for i := range g.rules {
		r := &g.rules[i]
		if !r.hasVerbs(o.Resource.Resource, "", watching...) || len(r.Namespaces) > 0 && !slices.Contains(r.Namespaces, in) {
			continue
		}
		if r.selector.Empty() {
			return true
		}
		if l == nil {
			var err error
			if l, err = LabelsOf(o.Raw); err != nil {
				return false
			}
		}
		if r.selector.Matches(l) {
			return true
		}
	}
	return false
}

// Selects reports whether labels decide about objects of the resource, so that the host has to know them.
func (g *Grant) Selects(resource abi.Resource) bool {
	return g != nil && slices.ContainsFunc(g.rules, func(r rule) bool {
		return !r.selector.Empty() && (resource == schema.Any || slices.Contains(r.APIGroups, "*") ||
			slices.Contains(r.APIGroups, resource.Group))
	})
}

// Narrows reports whether of the resource's objects some may be in views, some not.
func (g *Grant) Narrows(resource abi.Resource) bool {
	if g == nil {
		return false
	}
	return resource == schema.Any || !slices.ContainsFunc(g.rules, func(r rule) bool {
		return r.hasVerbs(resource, "", watching...) && len(r.Namespaces) == 0 && r.selector.Empty()
	})
}

// Name distinguishes grants: two have the same exactly if they have the same rules.
func (g *Grant) Name() string {
	if g == nil {
		return ""
	}
	var all []string
	for _, r := range g.rules {
		all = append(all, fmt.Sprintf("%q %q %q %q %q", r.APIGroups, r.Resources, r.Verbs, r.Namespaces, r.selector))
	}
	return strings.Join(all, "; ")
}
