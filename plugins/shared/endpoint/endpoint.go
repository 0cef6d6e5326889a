// Package endpoint makes endpoints of a service's pods.
package endpoint

import corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"

// Selected reports whether the service's endpoints are made of pods: somebody else makes those of services without a
// selector, and external names have none.
func Selected(s *corev1.Service) bool {
	return s.Spec.Type != corev1.ServiceTypeExternalName && len(s.Spec.Selector) > 0
}

// Headless reports whether the service has no address of its own.
func Headless(s *corev1.Service) bool {
	return s.Spec.ClusterIP == "" || s.Spec.ClusterIP == corev1.ClusterIPNone
}

// ServiceFields are all of a service's: any change of it has its endpoints put right, whoever has changed those, and is
// another attempt where a sync was given up.
var ServiceFields = []string{"metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.labels",
	"metadata.annotations", "metadata.finalizers", "metadata.ownerReferences", "spec", "status"}

// SlicePrefix returns what the name of a slice begins with that belongs to an object of a name: that name with a dash,
// unless that is too long for a slice's name.
func SlicePrefix(name string) string {
	if len(name) > 252 {
		return name
	}
	return name + "-"
}
