package namespace

import (
	"slices"
	"strconv"
	"strings"

	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// finding is one thing that can keep a namespace.
type finding struct {
	condition             corev1.NamespaceConditionType
	okReason, okMessage   string
	badReason, badMessage string // no message: it doesn't
}

// listFindings returns all five, as upstream words them.
func (f *findings) listFindings() [5]finding {
	return [5]finding{
		{corev1.NamespaceDeletionDiscoveryFailure, "ResourcesDiscovered", "All resources successfully discovered",
			"DiscoveryFailed", f.discovery},
		{corev1.NamespaceDeletionGVParsingFailure, "ParsedGroupVersions", "All legacy kube types successfully parsed",
			"GroupVersionParsingFailed", f.parsing},
		{corev1.NamespaceDeletionContentFailure, "ContentDeleted",
			"All content successfully deleted, may be waiting on finalization", "ContentDeletionFailed",
			joinSorted("Failed to delete all resource types, "+strconv.Itoa(len(f.failures))+" remaining: ", f.failures)},
		{corev1.NamespaceContentRemaining, "ContentRemoved", "All content successfully removed", "SomeResourcesRemain",
			joinSorted("Some resources are remaining: ", f.remaining)},
		{corev1.NamespaceFinalizersRemaining, "ContentHasNoFinalizers", "All content-preserving finalizers finished",
			"SomeFinalizersRemain",
			joinSorted("Some content in the namespace has finalizers remaining: ", f.describeFinalizers())},
	}
}

// describeFinalizers says of each finalizer how many objects it keeps.
func (f *findings) describeFinalizers() []string {
	texts := make([]string, len(f.finalizers))
	for i, t := range f.finalizers {
		texts[i] = t.finalizer + " in " + strconv.Itoa(t.objects) + " resource instances"
	}
	return texts
}

// joinSorted returns the sentence with the sorted list, nothing where there is nothing to say.
func joinSorted(what string, list []string) string {
	if len(list) == 0 {
		return ""
	}
	slices.Sort(list)
	return what + strings.Join(list, ", ")
}

// updateConditions brings the namespace's conditions up to date, and reports whether that changed any.
func (f *findings) updateConditions(ns *corev1.Namespace, now metav1.Time) (changed bool) {
	for _, x := range f.listFindings() {
		status, reason, message := corev1.ConditionFalse, x.okReason, x.okMessage
		if x.badMessage != "" {
			status, reason, message = corev1.ConditionTrue, x.badReason, x.badMessage
		}
		all := ns.Status.Conditions
		i := slices.IndexFunc(all, func(c corev1.NamespaceCondition) bool { return c.Type == x.condition })
		if i < 0 {
			i = len(all)
			all = append(all, corev1.NamespaceCondition{Type: x.condition})
		}
		c := &all[i]
		if c.Status == status && c.Reason == reason && c.Message == message {
			continue
		}
		if c.Status != status {
			c.LastTransitionTime = now.Truncate()
		}
		c.Status, c.Reason, c.Message = status, reason, message
		ns.Status.Conditions, changed = all, true
	}
	return changed
}
