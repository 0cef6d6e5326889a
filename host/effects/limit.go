package effects

import (
	"errors"
	"fmt"

	"github.com/windlass-dev/windlass/abi"
)

// LimitError says that an effect is over one of the host's limits. Objects can bring that about, so it is the failure
// of the effect and its key, and nothing that the plugin did wrong.
type LimitError struct {
	What        string // such as "a fact with its terms"
	Size, Limit int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s of %d bytes, the limit is %d", e.What, e.Size, e.Limit)
}

// Reason is the outcome's.
func (e *LimitError) Reason() string { return "LimitExceeded" }

// CountError says that an answer asks for more at once than the host does. Nothing of the answer is done, but as with
// a LimitError that is the key's failure.
type CountError struct {
	What  string // such as "effects of an answer"
	Limit int
}

func (e *CountError) Error() string {
	return fmt.Sprintf("too many %s, the limit is %d", e.What, e.Limit)
}

// OverLimit reports whether an error is that something is over one of the host's limits.
func OverLimit(err error) bool {
	return errors.As(err, new(*LimitError)) || errors.As(err, new(*CountError))
}

// checkLimits reports which limit an effect is over, whatever it is about.
func checkLimits(e *abi.Effect) error {
	switch e.Kind {
	case abi.EffectPublish:
		size := len(e.Object)
		for _, t := range e.Terms {
			size += len(t) + termOverhead
		}
		return overLimit("a fact with its terms", size, abi.FactMax)
	case abi.EffectZone:
		return overLimit("the name of a time zone", len(e.Zone.Name), partMax)
	case abi.EffectRead:
		return overLimit("a path with its query", len(e.Path), pathMax)
	case abi.EffectWake:
		return checkWoken(&e.Wake.Key)
	case abi.EffectCreate, abi.EffectUpdate, abi.EffectPatch, abi.EffectApply, abi.EffectReview:
		return overLimit("an object, of which the API server takes no larger one,", len(e.Object), objectMax)
	}
	return nil
}

func overLimit(what string, size, limit int) error {
	if size <= limit {
		return nil
	}
	return &LimitError{what, size, limit}
}
