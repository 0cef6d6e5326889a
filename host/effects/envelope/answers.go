package envelope

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/host/schema"
)

const (
	metadataForm     = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	metadataListForm = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

	// AcceptMetadata asks for metadata alone, which comes as JSON of a server that has no protobuf, such as one behind the
	// aggregator may be.
	AcceptMetadata = Protobuf + metadataForm + "," + runtime.ContentTypeJSON + metadataForm + "," +
		runtime.ContentTypeJSON
	// AcceptMetadataList asks for a list of metadata.
	AcceptMetadataList = Protobuf + metadataListForm + "," + runtime.ContentTypeJSON + metadataListForm + "," +
		runtime.ContentTypeJSON
)

// AcceptList is what a list is asked for in, other than protobuf.
func AcceptList(res *schema.Resource) string {
	switch {
	case res.Partial:
		return AcceptMetadataList
	case res.Custom:
		return runtime.ContentTypeJSON
	}
	return ""
}

// UnwrapOf opens the answer about a resource. Of a built-in one's whole objects there is no other form than protobuf,
// of those of any other none but JSON.
func UnwrapOf(res *schema.Resource, b []byte) (apiVersion, kind string, raw []byte, err error) {
	switch {
	case res.Partial:
		return UnwrapAny(b)
	case res.Custom && !IsProtobuf(b):
		return unwrapCustom(b)
	}
	return Unwrap(b)
}

// UnwrapList opens the answer to the deletion of a collection, of which the metadata is enough.
func UnwrapList(res *schema.Resource, b []byte) (apiVersion, kind string, raw []byte, err error) {
	if res.Partial || res.Custom {
		return UnwrapAny(b)
	}
	return Unwrap(b)
}
