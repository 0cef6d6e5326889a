package resource

import (
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// Metadata is an object of any kind of which nothing but the metadata is read. A view of it keeps the kind's tables,
// kilobytes of them, out of the module.
type Metadata struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	// Resource is what the object is of, as abi.Resource.String gives it, and KindName the kind: of views over all
	// resources. Effects name the object by them.
	Resource, KindName string
	XUnknown           wire.Unknown
}

var metadataTable = wire.Type{Size: unsafe.Sizeof(Metadata{}), Spare: unsafe.Offsetof(Metadata{}.XUnknown) + 1,
	New: wire.Grow[Metadata], Fields: []wire.Field{
		{Kind: wire.Message, Offset: unsafe.Offsetof(Metadata{}.TypeMeta), Elem: &metav1.TypeMetaTable},
		{Num: 1, Kind: wire.Message, Offset: unsafe.Offsetof(Metadata{}.ObjectMeta), Elem: &metav1.ObjectMetaTable,
			JSON: "metadata"},
	}}

var metadataInfo = Info{Type: &metadataTable}

// GetResource returns the form of the object, not its kind.
func (m *Metadata) GetResource() *Info { return &metadataInfo }

// Any stands for all resources, in views and rights.
var Any = MetadataOf("", "", "*")

// MetadataOf is the resource with this group, version and plural, for views of its objects' metadata.
func MetadataOf(group, version, name string) Of[Metadata] {
	return Of[Metadata]{Info{Group: group, Version: version, Name: name, Type: &metadataTable}}
}
