// Package shared has types that several versions use.
package shared

import metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"

// Window is when something may happen.
type Window struct {
	// Days are its days.
	// +kubebuilder:validation:MinItems=1
	// +listType=set
	Days []Day `json:"days"`
	// Length is how long it is open.
	Length metav1.Duration `json:"length,omitempty"`

	XUnknown metav1.Unknown `json:"-"`
}

// Day is a day of the week.
// +kubebuilder:validation:Enum=Mon;Tue;Wed;Thu;Fri;Sat;Sun
type Day string
