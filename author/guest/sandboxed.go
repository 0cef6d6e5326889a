package guest

import (
	"context"

	"github.com/windlass-dev/windlass/host/sandbox"
)

// Sandboxed is a guest that is called as a module in the sandbox is.
type Sandboxed struct{ Guest }

// Sync hands a message to the guest and returns its answer to read.
func (s Sandboxed) Sync(ctx context.Context, call *sandbox.Call, read func([]byte) error) (sandbox.Stats, error) {
	request := make([]byte, call.Size)
	call.Write(request)
	answer, used, err := s.Guest.Sync(request, func(in []byte) ([]byte, error) { return call.Perform(ctx, in) })
	stats := sandbox.Stats{Fuel: used.Fuel, Memory: used.Memory}
	if err != nil {
		return stats, err
	}
	return stats, read(answer)
}
