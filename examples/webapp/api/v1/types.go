// Package v1 has the custom resource WebApp.
//
// +groupName=example.com
// +versionName=v1
package v1

//go:generate windlass plugin generate

import (
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// WebApp is a web application: an image that answers HTTP, how many of it, and the Service before them.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=wa
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.availableReplicas`
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`
type WebApp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WebAppSpec   `json:"spec"`
	Status WebAppStatus `json:"status,omitempty"`

	XUnknown metav1.Unknown `json:"-"`
}

// WebAppSpec is what users want.
type WebAppSpec struct {
	// Image is the container's image.
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image"`
	// Port is where the container answers HTTP; the Service answers at port 80.
	// +kubebuilder:default=8080
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// Replicas is how many pods there are, or where MaxReplicas is larger, the fewest that there are.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`
	// MaxReplicas lets an autoscaler run more pods, up to so many.
	// +kubebuilder:validation:Minimum=0
	MaxReplicas int32 `json:"maxReplicas,omitempty"`
	// TargetCPU is how much of the CPU that they request the pods should use on average, in percent, where there is an
	// autoscaler.
	// +kubebuilder:default=80
	// +kubebuilder:validation:Minimum=1
	TargetCPU int32 `json:"targetCPU,omitempty"`
	// Env is the container's environment.
	// +listType=map
	// +listMapKey=name
	Env []EnvVar `json:"env,omitempty"`
	// Resources are what the container requests and may use.
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`

	XUnknown metav1.Unknown `json:"-"`
}

// EnvVar is a variable of the container's environment.
type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`

	XUnknown metav1.Unknown `json:"-"`
}

// WebAppStatus is what there is.
type WebAppStatus struct {
	// ObservedGeneration is the generation of the spec that the status is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// AvailableReplicas is how many pods are ready to serve.
	AvailableReplicas int32 `json:"availableReplicas,omitempty"`
	// Conditions has Ready: the wanted pods are there and up to date.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	XUnknown metav1.Unknown `json:"-"`
}
