package effects

import (
	"bytes"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/host/schema"
)

// How metadata alone is asked for; of a server that has no protobuf, such as one behind the aggregator may be, it comes
// as JSON.
const (
	metadataForm     = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	metadataListForm = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	acceptMetadata   = protobuf + metadataForm + "," + runtime.ContentTypeJSON + metadataForm + "," +
		runtime.ContentTypeJSON
	acceptMetadatas = protobuf + metadataListForm + "," + runtime.ContentTypeJSON + metadataListForm + "," +
		runtime.ContentTypeJSON
)

// acceptList is what a list is asked for in, other than protobuf.
func acceptList(res *schema.Resource) string {
	switch {
	case res.Partial:
		return acceptMetadatas
	case res.Custom:
		return runtime.ContentTypeJSON
	}
	return ""
}

// unwrapOf opens the answer about a resource. Of a built-in one's whole objects there is no other form than protobuf,
// of those of any other none but JSON.
func unwrapOf(res *schema.Resource, b []byte) (apiVersion, kind string, raw []byte, err error) {
	switch {
	case res.Partial:
		return unwrapAny(b)
	case res.Custom && !bytes.HasPrefix(b, magic):
		return unwrapCustom(b)
	}
	return unwrap(b)
}

// unwrapList opens the answer to the deletion of a collection, of which the metadata is enough.
func unwrapList(res *schema.Resource, b []byte) (apiVersion, kind string, raw []byte, err error) {
	if res.Partial || res.Custom {
		return unwrapAny(b)
	}
	return unwrap(b)
}
