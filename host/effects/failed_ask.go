package effects

import (
	"errors"
	"fmt"

	"github.com/windlass-dev/windlass/abi"
)

// FailedAskError says that a lazy view couldn't be delivered. It ends the sync: a plugin that went on would take what
// it doesn't know for an empty list.
type FailedAskError struct {
	Plugin, Controller string
	Key                abi.KeyRef
	Err                error
}

func (e *FailedAskError) Error() string {
	return fmt.Sprintf("plugin %q: controller %s: key %s: an ask failed, nothing of the answer was written: %v", e.Plugin,
		e.Controller, e.Key.String(), e.Err)
}

func (e *FailedAskError) Unwrap() error { return e.Err }

// AskFailed reports whether a sync was ended because an ask had failed.
func AskFailed(err error) bool {
	var failed *FailedAskError
	return errors.As(err, &failed)
}

// noteFailedAsk keeps the first failure of an ask, for the end of the perform.
func (s *Session) noteFailedAsk(err error) {
	s.failedAsk.CompareAndSwap(nil, &FailedAskError{Plugin: s.w.Plugin, Controller: s.w.Controller.Name, Key: s.key,
		Err: err})
}
