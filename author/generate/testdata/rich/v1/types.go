// Package v1 has a custom resource with a field of each kind.
// +groupName=rich.example.com
package v1

import (
	apiextensionsv1 "github.com/windlass-dev/windlass/sdk/api/apiextensions/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"

	"github.com/windlass-dev/windlass/author/generate/testdata/rich/shared"
)

// Rich has a field of each kind.
//
// It is for tests: nobody would want it.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=riches,shortName=ri;rch,categories=all,singular=rich
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`,description="How many there shall be",priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:storageversion
// +kubebuilder:metadata:annotations="note=for tests",labels="team=none"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() < 64",message="the name is too long"
type Rich struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what there shall be.
	Spec RichSpec `json:"spec"`
	// Status says what there is.
	// +optional
	Status RichStatus `json:"status,omitempty"`

	XUnknown metav1.Unknown `json:"-"`
}

// RichSpec says what there shall be.
// +kubebuilder:validation:XValidation:rule="!has(self.minimum) || self.minimum <= self.replicas"
type RichSpec struct {
	Common `json:",inline"`

	// Replicas is how many.
	// It has a second line.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Replicas *int32 `json:"replicas,omitempty"`
	Minimum  int32  `json:"minimum,omitempty"`
	// Serial is a large number.
	// +kubebuilder:validation:MultipleOf=2
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:Minimum=10
	Serial  int64 `json:"serial"`
	Paused  bool  `json:"paused,omitempty"`
	Wanted  *bool `json:"wanted,omitempty"`
	Patient bool  `json:"patient"`

	// Name is a name.
	//   - with a list
	//   - of two
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// +kubebuilder:validation:Format=ipv4
	// +nullable
	Address *string `json:"address,omitempty"`
	// Mode is one of a few.
	// +kubebuilder:default=Auto
	Mode Mode `json:"mode,omitempty"`
	// +kubebuilder:validation:Enum=a;b;"c d"
	Inline string `json:"inline,omitempty"`
	Data   []byte `json:"data,omitempty"`

	// Tiers are named.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Tiers []Tier `json:"tiers,omitempty"`
	Main  Tier   `json:"main"`
	Spare *Tier  `json:"spare,omitempty"`

	// +listType=set
	// +kubebuilder:validation:UniqueItems=false
	// +kubebuilder:validation:items:MaxLength=10
	Words   []string `json:"words,omitempty"`
	Numbers Numbers  `json:"numbers,omitempty"`
	Longs   []int64  `json:"longs,omitempty"`
	Flags   []bool   `json:"flags"`
	Blobs   [][]byte `json:"blobs,omitempty"`
	Modes   []Mode   `json:"modes,omitempty"`
	// Grid is lists in a list.
	Grid [][]int32 `json:"grid,omitempty"`

	Labels metav1.StringMap `json:"labels,omitempty"`
	// +kubebuilder:validation:MaxProperties=5
	ByMode  metav1.Map[Mode, Tier]                `json:"byMode,omitempty"`
	Counts  metav1.Map[string, int32]             `json:"counts,omitempty"`
	Lists   metav1.Map[string, []string]          `json:"lists,omitempty"`
	Nested  metav1.Map[string, metav1.StringMap]  `json:"nested,omitempty"`
	Limits  metav1.Map[string, resource.Quantity] `json:"limits,omitempty"`
	Aliased Tags                                  `json:"aliased,omitempty"`
	Rows    []metav1.StringMap                    `json:"rows,omitempty"`

	// Port is a number or a name.
	Port metav1.IntOrString `json:"port,omitempty"`
	// +kubebuilder:default="25%"
	Surge *metav1.IntOrString `json:"surge,omitempty"`
	Size  resource.Quantity   `json:"size,omitempty"`
	Most  *resource.Quantity  `json:"most,omitempty"`
	// +kubebuilder:default="5m"
	Timeout metav1.Duration  `json:"timeout,omitempty"`
	Grace   *metav1.Duration `json:"grace,omitempty"`
	Start   *metav1.Time     `json:"start,omitempty"`
	Exactly metav1.MicroTime `json:"exactly,omitempty"`
	Window  shared.Window    `json:"window,omitempty"`
	Windows []shared.Window  `json:"windows,omitempty"`

	// Anything is any object.
	// +kubebuilder:pruning:PreserveUnknownFields
	Anything metav1.RawExtension   `json:"anything,omitempty"`
	Value    apiextensionsv1.JSON  `json:"value,omitempty"`
	Maybe    *apiextensionsv1.JSON `json:"maybe,omitempty"`

	// Selector selects.
	Selector  *metav1.LabelSelector       `json:"selector,omitempty"`
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	Requests  corev1.ResourceList         `json:"requests,omitempty"`
	// +patchMergeKey=name
	Env      []corev1.EnvVar             `json:"env,omitempty"`
	Protocol corev1.Protocol             `json:"protocol,omitempty"`
	Template *corev1.PodTemplateSpec     `json:"template,omitempty"`
	Ref      corev1.LocalObjectReference `json:"ref,omitempty"`

	XUnknown metav1.Unknown `json:"-"`
}

// Common is in more than one kind.
type Common struct {
	// Owner is who is to be asked.
	Owner string `json:"owner,omitempty"`

	XUnknown metav1.Unknown `json:"-"`
}

// Mode is how it is done.
// +kubebuilder:validation:Enum=Auto;Manual
type Mode string

// The modes.
const (
	Auto   Mode = "Auto"
	Manual Mode = "Manual"
)

// Numbers are numbers.
// +kubebuilder:validation:MaxItems=7
type Numbers []int32

// Tags are words for words.
type Tags metav1.Map[string, string]

// Tier is one of several.
// +structType=atomic
type Tier struct {
	// +required
	Name string `json:"name,omitempty"`
	// +kubebuilder:validation:Optional
	Weight int32 `json:"weight"`
	// Metadata is for what is made of it.
	Metadata metav1.ObjectMeta `json:"metadata,omitempty"`

	XUnknown metav1.Unknown `json:"-"`
}

// RichStatus says what there is.
type RichStatus struct {
	Replicas int32  `json:"replicas"`
	Selector string `json:"selector,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// +optional
	LastRun metav1.Time `json:"lastRun,omitempty,omitzero"`

	XUnknown metav1.Unknown `json:"-"`
}

// Wide has no namespace and not much else.
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:deprecatedversion:warning="take Rich"
type Wide struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Common            `json:",inline"`

	XUnknown metav1.Unknown `json:"-"`
}

// WideList isn't needed, but does no harm.
// +kubebuilder:object:root=true
type WideList struct {
	metav1.TypeMeta `json:",inline"`
	Items           []Wide `json:"items"`
}
