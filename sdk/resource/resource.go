// Package resource names the API's resources and ties each to its Go type.
package resource

import (
	"unsafe"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// Info is what is known of a resource beside its Go type.
type Info struct {
	Group, Version string
	Name           string // plural
	Kind           string
	Namespaced     bool
	Type           *wire.Type
	JSON           *Codec // of a custom resource: &JSON; nil where all of an object is protobuf
}

// Of is a resource whose objects are of type T, such as corev1.Pods.
type Of[T any] struct{ Info }

// ABI is the resource as the manifest names it.
func (i *Info) ABI() abi.Resource {
	return abi.Resource{Group: i.Group, Version: i.Version, Name: i.Name}
}

// APIVersion is "apps/v1", or "v1" for the core group.
func (i *Info) APIVersion() string {
	if i.Group == "" {
		return i.Version
	}
	return i.Group + "/" + i.Version
}

// Verbs is the right to use verbs on the resource.
func (i *Info) Verbs(verbs ...string) abi.Write { return abi.Write{Resource: i.ABI(), Verbs: verbs} }

// Sub is the right to use verbs on a subresource.
func (i *Info) Sub(subresource string, verbs ...string) abi.Write {
	return abi.Write{Resource: i.ABI(), Subresource: subresource, Verbs: verbs}
}

// ABI is the resource as the manifest names it.
func (r Of[T]) ABI() abi.Resource { return r.Info.ABI() }

// Verbs is the right to use verbs on the resource.
func (r Of[T]) Verbs(verbs ...string) abi.Write { return r.Info.Verbs(verbs...) }

// Sub is the right to use verbs on a subresource.
func (r Of[T]) Sub(subresource string, verbs ...string) abi.Write {
	return r.Info.Sub(subresource, verbs...)
}

// Object is a pointer to a Kubernetes object, such as *corev1.Pod.
type Object interface {
	GetObjectMeta() *metav1.ObjectMeta
	GetResource() *Info
}

// Pointer is the Object that points to a T.
type Pointer[T any] interface {
	*T
	Object
}

// PointerOf is the pointer inside the interface, which its resource's wire type reads.
func PointerOf(o Object) unsafe.Pointer { return (*[2]unsafe.Pointer)(unsafe.Pointer(&o))[1] }

// Append appends the object as it travels between host and plugin.
func Append(b []byte, o Object) []byte {
	r := o.GetResource()
	if r.JSON != nil {
		return r.JSON.append(b, PointerOf(o), r.Type)
	}
	return wire.Append(b, PointerOf(o), r.Type)
}

// Decode reads what [Append] wrote, which must not change while the object lives, into an empty object. The error of a
// custom resource names the path of what doesn't fit its type.
func Decode(b []byte, o Object) error {
	r := o.GetResource()
	if r.JSON != nil {
		return r.JSON.decode(b, PointerOf(o), r.Type)
	}
	return wire.Unmarshal(b, PointerOf(o), r.Type)
}

// Reset makes an object empty.
func Reset(o Object) { wire.Reset(PointerOf(o), o.GetResource().Type) }

// Equal reports whether two objects of one type mean the same.
func Equal(a, b Object) bool { return wire.Equal(PointerOf(a), PointerOf(b), a.GetResource().Type) }

// Quantity is an amount of Kubernetes, by the name that everyone knows.
type Quantity = wire.Quantity
