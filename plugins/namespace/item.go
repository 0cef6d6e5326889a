package namespace

import (
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// item is an object of any kind of which only its name and what keeps it is read: tens of thousands may be left of a
// resource.
type item struct{ meta itemMeta }

type itemMeta struct {
	name       string
	uid        metav1.UID
	finalizers []string
}

var (
	itemTable = wire.Type{Size: unsafe.Sizeof(item{}), New: wire.Grow[item],
		Fields: []wire.Field{{Num: 1, Kind: wire.Message, Elem: &itemMetaTable}}}
	itemMetaTable = wire.Type{Size: unsafe.Sizeof(itemMeta{}), New: wire.Grow[itemMeta], Fields: []wire.Field{
		{Num: 1, Kind: wire.String, Offset: unsafe.Offsetof(itemMeta{}.name)},
		{Num: 5, Kind: wire.String, Offset: unsafe.Offsetof(itemMeta{}.uid)},
		{Num: 14, Kind: wire.Rep | wire.String, Offset: unsafe.Offsetof(itemMeta{}.finalizers)},
	}}
)

// forEachItem calls f with the metadata of each object of a resource, one after another in the same memory.
func forEachItem(c *sdk.Call, resource, namespace string, f func(*itemMeta)) error {
	list, err := c.ListMetadata(resource, namespace)
	if err != nil {
		return err
	}
	o := &item{}
	for i := range list {
		wire.Reset(unsafe.Pointer(o), &itemTable)
		if err := wire.Unmarshal(list[i].Data, unsafe.Pointer(o), &itemTable); err != nil {
			return err
		}
		f(&o.meta)
	}
	return nil
}
