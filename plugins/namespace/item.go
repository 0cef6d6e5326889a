package namespace

import (
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// item is an object of any kind of which only its name and what keeps it is read: tens of thousands may be left of a
// resource.
//
//narrow:part v1 Pod
type item struct{ ObjectMeta itemMeta }

type itemMeta struct {
	Name       string
	UID        metav1.UID
	Finalizers []string
}

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
		f(&o.ObjectMeta)
	}
	return nil
}
