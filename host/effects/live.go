package effects

import (
	"context"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/awaiting"
	"github.com/windlass-dev/windlass/host/schema"
)

// readLive reads an object under the host's identity, nil when there is none.
func (w *Writer) readLive(ctx context.Context, res *schema.Resource, namespace, name string) ([]byte, error) {
	ctx, awaited := awaiting.Begin(ctx, named("get "+res.Resource.String()+" "+namespace+"/"+name))
	defer awaited.End()
	return w.reader.ReadObject(ctx, res, namespace, name, w.Timeout)
}

// liveObject reads an object as readLive does, of a resource that was written.
func (w *Writer) liveObject(ctx context.Context, r abi.Resource, namespace, name string) ([]byte, error) {
	res, err := w.resources.find(r.String())
	if err != nil {
		return nil, err
	}
	return w.readLive(ctx, res, namespace, name)
}

// liveVersion reads the version that a collection has now.
func (w *Writer) liveVersion(ctx context.Context, r abi.Resource) (string, error) {
	return w.reader.ReadVersion(ctx, r, w.Timeout)
}
