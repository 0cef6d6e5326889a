package config

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// grantVerbs are the verbs that a rule can have.
var grantVerbs = []string{"*", "approve", "attest", "create", "delete", "deletecollection", "escalate", "get", "list",
	"patch", "sign", "update", "watch"}

func (r *Rule) validate(p *field.Path) (errs field.ErrorList) {
	if len(r.APIGroups) == 0 {
		errs = append(errs, field.Required(p.Child("apiGroups"),
			`name the resources' groups: [""] is the core group, ["*"] is all`))
	}

	for i, g := range r.APIGroups {
		if g != "" && g != "*" && len(validation.IsDNS1123Subdomain(g)) > 0 {
			errs = append(errs, field.Invalid(p.Child("apiGroups").Index(i), g,
				`must be a group without its version, such as "apps", or "" or "*"`))
		}
	}

	if len(r.Resources) == 0 {
		errs = append(errs, field.Required(p.Child("resources"), `name resources, such as "pods" or "pods/status", or "*"`))
	}
	for i, name := range r.Resources {
		if !resourcePattern(name) {
			errs = append(errs, field.Invalid(p.Child("resources").Index(i), name,
				`must be a plural in lower case, such as "pods", with a subresource, "pods/status", or "*" or "*/status"`))
		}
	}

	if len(r.Verbs) == 0 {
		errs = append(errs, field.Required(p.Child("verbs"), `name verbs, such as "list" and "watch", or "*"`))
	}
	for i, v := range r.Verbs {
		if !slices.Contains(grantVerbs, v) {
			errs = append(errs, field.NotSupported(p.Child("verbs").Index(i), v, grantVerbs))
		}
	}

	for i, n := range r.Namespaces {
		if why := validation.IsDNS1123Label(n); len(why) > 0 {
			errs = append(errs, field.Invalid(p.Child("namespaces").Index(i), n,
				"must be a namespace's name (leave the list out for all of them): "+strings.Join(why, "; ")))
		}
	}

	if _, err := metav1.LabelSelectorAsSelector(&r.Selector); err != nil {
		errs = append(errs, field.Invalid(p.Child("selector"), metav1.FormatLabelSelector(&r.Selector), err.Error()))
	}
	return errs
}

// resourcePattern reports whether the name is that of resources: a plural or *, with or without a subresource.
func resourcePattern(name string) bool {
	if name == "*" {
		return true
	}
	plural, sub, has := strings.Cut(name, "/")
	if has && len(validation.IsDNS1123Label(sub)) > 0 {
		return false
	}
	return plural == "*" && has || len(validation.IsDNS1123Label(plural)) == 0
}

func (i *Impersonate) validate(p *field.Path) (errs field.ErrorList) {
	if i.ServiceAccount != "" {
		ns, name, ok := strings.Cut(i.ServiceAccount, "/")
		if !ok || len(validation.IsDNS1123Label(ns)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
			errs = append(errs, field.Invalid(p.Child("serviceAccount"), i.ServiceAccount, "must be namespace/name"))
		}
		if i.User != "" || len(i.Groups) > 0 {
			errs = append(errs, field.Invalid(p.Child("serviceAccount"), i.ServiceAccount,
				"can't be set together with user or groups: a service account has its own"))
		}
	} else if len(i.Groups) > 0 && i.User == "" {
		errs = append(errs, field.Required(p.Child("user"), "groups are those of a user"))
	}
	for n, g := range i.Groups {
		if g == "" {
			errs = append(errs, field.Required(p.Child("groups").Index(n),
				fmt.Sprintf("name a group, or remove the entry %d", n)))
		}
	}
	return errs
}
