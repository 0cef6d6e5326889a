package resourcequota

import (
	"strings"

	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// countsServices reports whether a resource of a quota is counted of services.
func countsServices(name corev1.ResourceName) bool {
	return name == "count/services" || name == corev1.ResourceServices || name == corev1.ResourceServicesNodePorts ||
		name == corev1.ResourceServicesLoadBalancers
}

// usage is how much the service takes of a resource of a quota (pkg/quota/v1/evaluator/core/services.go).
func (s *Service) usage(name corev1.ResourceName) amount {
	balanced := s.Spec.Type == corev1.ServiceTypeLoadBalancer
	switch name {
	case corev1.ResourceServicesLoadBalancers:
		if !balanced {
			return amount{}
		}
	case corev1.ResourceServicesNodePorts:
		if !balanced && s.Spec.Type != corev1.ServiceTypeNodePort {
			return amount{}
		}
		if allocate := s.Spec.AllocateLoadBalancerNodePorts; balanced && allocate != nil && !*allocate {
			return whole(int64(s.nodePorts()))
		}
		return whole(int64(len(s.Spec.Ports))) // those that aren't allocated yet as well
	}
	return one
}

func (s *Service) nodePorts() (n int) {
	for i := range s.Spec.Ports {
		if s.Spec.Ports[i].NodePort != 0 {
			n++
		}
	}
	return n
}

const ofStorageClass = ".storageclass.storage.k8s.io/"

// countsVolumeClaims reports whether a resource of a quota is counted of PersistentVolumeClaims.
func countsVolumeClaims(name corev1.ResourceName) bool {
	_, resource, _ := cutStorageClass(name)
	return name == "count/persistentvolumeclaims" || resource == corev1.ResourcePersistentVolumeClaims ||
		resource == corev1.ResourceRequestsStorage
}

// cutStorageClass returns what a resource is of a storage class, and of which: objects of that one alone count. Of any
// other resource it returns the name.
func cutStorageClass(name corev1.ResourceName) (class string, resource corev1.ResourceName, ofOne bool) {
	i := strings.LastIndex(string(name), ofStorageClass)
	if i < 0 {
		return "", name, false
	}
	return string(name[:i]), name[i+len(ofStorageClass):], true
}

// usage is how much the claim takes of a resource of a quota.
func (v *VolumeClaim) usage(name corev1.ResourceName) amount {
	class, resource, ofOne := cutStorageClass(name)
	if own := v.storageClass(); ofOne && (own == "" || class != own) {
		return amount{}
	}
	if resource == corev1.ResourceRequestsStorage {
		return v.storage()
	}
	return one
}

// storageClass returns the claim's class, which may still be in an annotation.
func (v *VolumeClaim) storageClass() string {
	if class, ok := v.Annotations.Lookup(corev1.BetaStorageClassAnnotation); ok {
		return class
	}
	if v.Spec.StorageClassName == nil {
		return ""
	}
	return *v.Spec.StorageClassName
}

// storage is the space that the claim asks for, or if that is more, has been given already; in whole bytes.
func (v *VolumeClaim) storage() amount {
	asked := readAmount(v.Spec.Resources.Requests, corev1.ResourceStorage)
	if !asked.there {
		return asked
	}
	asked.Amount = asked.RoundUp()
	given := readAmount(v.Status.AllocatedResources, corev1.ResourceStorage)
	if given.there && given.Compare(asked.Amount) > 0 {
		given.broken = given.broken || asked.broken
		asked = given
		asked.Amount = asked.RoundUp()
	}
	return asked
}
