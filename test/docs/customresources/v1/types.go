// Package v1 has the types of docs/custom-resources.md.
// +groupName=example.com
package v1

import (
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// Website is a page that somebody wants to be served.
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=web
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WebsiteSpec   `json:"spec"`
	Status WebsiteStatus `json:"status,omitempty"`

	XUnknown metav1.Unknown `json:"-"`
}

// WebsiteSpec is what a person wants.
type WebsiteSpec struct {
	// +kubebuilder:validation:MinLength=1
	Title string `json:"title"`
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=0
	Replicas  *int32                      `json:"replicas,omitempty"`
	Labels    metav1.StringMap            `json:"labels,omitempty"`
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`

	XUnknown metav1.Unknown `json:"-"`
}

// WebsiteStatus is what there is.
type WebsiteStatus struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	XUnknown metav1.Unknown `json:"-"`
}
