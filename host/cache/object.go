package cache

import (
	"github.com/windlass-dev/windlass/host/schema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Object is one object of the cluster. It is never changed; its strings alias the memory of Raw.
type Object struct {
	Resource        *schema.Resource
	Namespace       string
	Name            string
	UID             types.UID
	ResourceVersion string
	// Raw is the object's message on the wire, projected to what its readers want of it, without metadata.resourceVersion.
	Raw []byte
}

// isWanted reports whether the object is to be stored; else it has nothing but its names.
func (o *Object) isWanted() bool { return len(o.Raw) > 0 }

// Of metav1.Object, client-go's reflector asks for the resource version, for a bookmark's annotation, and for what
// makes a store's key. The rest is unset.

// GetNamespace is for client-go.
func (o *Object) GetNamespace() string { return o.Namespace }

// GetName is for client-go.
func (o *Object) GetName() string { return o.Name }

// GetUID is for client-go.
func (o *Object) GetUID() types.UID { return o.UID }

// GetResourceVersion is for client-go.
func (o *Object) GetResourceVersion() string { return o.ResourceVersion }

// GetAnnotations returns a bookmark's annotations. A bookmark is an object without a name.
func (o *Object) GetAnnotations() map[string]string {
	if o.Name != "" || len(o.Raw) == 0 {
		return nil
	}
	return map[string]string{metav1.InitialEventsAnnotationKey: string(o.Raw)}
}

// The rest of metav1.Object.

func (o *Object) SetNamespace(string)                            {}
func (o *Object) SetName(string)                                 {}
func (o *Object) GetGenerateName() string                        { return "" }
func (o *Object) SetGenerateName(string)                         {}
func (o *Object) SetUID(types.UID)                               {}
func (o *Object) SetResourceVersion(string)                      {}
func (o *Object) GetGeneration() int64                           { return 0 }
func (o *Object) SetGeneration(int64)                            {}
func (o *Object) GetSelfLink() string                            { return "" }
func (o *Object) SetSelfLink(string)                             {}
func (o *Object) GetCreationTimestamp() metav1.Time              { return metav1.Time{} }
func (o *Object) SetCreationTimestamp(metav1.Time)               {}
func (o *Object) GetDeletionTimestamp() *metav1.Time             { return nil }
func (o *Object) SetDeletionTimestamp(*metav1.Time)              {}
func (o *Object) GetDeletionGracePeriodSeconds() *int64          { return nil }
func (o *Object) SetDeletionGracePeriodSeconds(*int64)           {}
func (o *Object) GetLabels() map[string]string                   { return nil }
func (o *Object) SetLabels(map[string]string)                    {}
func (o *Object) SetAnnotations(map[string]string)               {}
func (o *Object) GetFinalizers() []string                        { return nil }
func (o *Object) SetFinalizers([]string)                         {}
func (o *Object) GetOwnerReferences() []metav1.OwnerReference    { return nil }
func (o *Object) SetOwnerReferences([]metav1.OwnerReference)     {}
func (o *Object) GetManagedFields() []metav1.ManagedFieldsEntry  { return nil }
func (o *Object) SetManagedFields(_ []metav1.ManagedFieldsEntry) {}

// GetObjectKind is for client-go.
func (o *Object) GetObjectKind() kschema.ObjectKind { return kschema.EmptyObjectKind }

// DeepCopyObject is for client-go; objects are never changed, so the copy is the object.
func (o *Object) DeepCopyObject() runtime.Object { return o }

// List is what a list request is decoded into.
type List struct {
	metav1.ListMeta
	Items []*Object
}

// GetObjectKind is for client-go.
func (l *List) GetObjectKind() kschema.ObjectKind { return kschema.EmptyObjectKind }

// DeepCopyObject copies the list; the objects are shared.
func (l *List) DeepCopyObject() runtime.Object {
	c := *l
	return &c
}

var (
	_ metav1.Object  = (*Object)(nil)
	_ runtime.Object = (*List)(nil)
)
