package resourcequota

import (
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/labels"
)

// requirement is a scope of a quota with what is demanded of it.
type requirement = corev1.ScopedResourceSelectorRequirement

// scopesOf returns what a quota demands of the objects that it counts, all of it.
func scopesOf(spec *corev1.ResourceQuotaSpec) []requirement {
	scopes := make([]requirement, 0, len(spec.Scopes))
	for _, s := range spec.Scopes {
		scopes = append(scopes, requirement{ScopeName: s, Operator: corev1.ScopeSelectorOpExists})
	}
	if spec.ScopeSelector != nil {
		scopes = append(scopes, spec.ScopeSelector.MatchExpressions...)
	}
	return scopes
}

// inScopes reports whether the pod meets all requirements. No pod meets one that isn't about pods.
func (p *Pod) inScopes(scopes []requirement, rules podRules) bool {
	for i := range scopes {
		if !p.inScope(&scopes[i], rules) {
			return false
		}
	}
	return true
}

func (p *Pod) inScope(r *requirement, rules podRules) bool {
	switch r.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return p.hasDeadline()
	case corev1.ResourceQuotaScopeNotTerminating:
		return !p.hasDeadline()
	case corev1.ResourceQuotaScopeBestEffort:
		return p.bestEffort(rules)
	case corev1.ResourceQuotaScopeNotBestEffort:
		return !p.bestEffort(rules)
	case corev1.ResourceQuotaScopePriorityClass:
		return selectsAny(r, p.Spec.PriorityClassName)
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return p.Spec.Affinity != nil &&
			(p.Spec.Affinity.PodAffinity.crossesNamespaces() || p.Spec.Affinity.PodAntiAffinity.crossesNamespaces())
	}
	return false
}

// inScopes reports whether the claim meets all requirements. There is one scope for claims.
func (v *VolumeClaim) inScopes(scopes []requirement) bool {
	for i := range scopes {
		if scopes[i].ScopeName != corev1.ResourceQuotaScopeVolumeAttributesClass ||
			!selectsAny(&scopes[i], v.attributesClasses()...) {
			return false
		}
	}
	return true
}

// attributesClasses are the classes that the claim's volume has, is to have, and is being given.
func (v *VolumeClaim) attributesClasses() []string {
	var names []string
	for _, name := range []*string{v.Spec.VolumeAttributesClassName, v.Status.CurrentVolumeAttributesClassName} {
		if name != nil {
			names = append(names, *name)
		}
	}
	if v.Status.ModifyVolumeStatus != nil {
		names = append(names, v.Status.ModifyVolumeStatus.TargetVolumeAttributesClassName)
	}
	return names
}

// selectsAny reports whether the requirement selects one of the names, or where all are empty, an object without one.
// What is no valid requirement selects nothing.
func selectsAny(r *requirement, names ...string) bool {
	selector := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: string(r.ScopeName), Operator: metav1.LabelSelectorOperator(r.Operator), Values: r.Values}}}
	exists := r.Operator == corev1.ScopeSelectorOpExists // whatever its values are
	if !exists && labels.Check(selector) != nil {
		return false
	}

	named := false
	for _, name := range names {
		if name == "" {
			continue
		}
		named = true
		if exists || labels.Selects(selector, metav1.StringMap{{Key: string(r.ScopeName), Value: name}}) {
			return true
		}
	}
	return !named && !exists && labels.Selects(selector, nil)
}

// hasDeadline reports whether the pod ends by itself after a time, which is what is meant by a terminating pod here.
func (p *Pod) hasDeadline() bool {
	return p.Spec.ActiveDeadlineSeconds != nil && *p.Spec.ActiveDeadlineSeconds >= 0
}

// bestEffort reports whether nothing is reserved for the pod. The API server says so in the status of each.
func (p *Pod) bestEffort(rules podRules) bool {
	if p.Status.QOSClass != "" {
		return p.Status.QOSClass == corev1.PodQOSBestEffort
	}
	if r := p.Spec.Resources; r != nil && rules.asWhole && (!rules.onlyIfSet || r.ofWholePod()) {
		return r.bestEffort()
	}
	for _, list := range [][]Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			if !list[i].Resources.bestEffort() {
				return false
			}
		}
	}
	return true
}

// bestEffort reports whether neither processor time nor memory is asked for.
func (r *Requirements) bestEffort() bool {
	for _, list := range []corev1.ResourceList{r.Requests, r.Limits} {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			if q := list.At(name); q != nil && !q.IsZero() {
				return false
			}
		}
	}
	return true
}

// ofWholePod reports whether these are resources that a pod as a whole may ask for.
func (r *Requirements) ofWholePod() bool {
	for _, list := range []corev1.ResourceList{r.Requests, r.Limits} {
		for i := range list {
			if maybeOfWholePod(list[i].Key) {
				return true
			}
		}
	}
	return false
}

// crossesNamespaces reports whether a term looks for pods in namespaces that it names.
func (a *PodAffinity) crossesNamespaces() bool {
	if a == nil {
		return false
	}
	for i := range a.RequiredDuringSchedulingIgnoredDuringExecution {
		if a.RequiredDuringSchedulingIgnoredDuringExecution[i].crossesNamespaces() {
			return true
		}
	}
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		if a.PreferredDuringSchedulingIgnoredDuringExecution[i].PodAffinityTerm.crossesNamespaces() {
			return true
		}
	}
	return false
}

func (t *AffinityTerm) crossesNamespaces() bool {
	return len(t.Namespaces) != 0 || t.NamespaceSelector != nil
}
