//go:build !linux

package will

import (
	"errors"
	"net"
	"time"

	"github.com/windlass-dev/windlass/host/process/guardian"
)

// Will is the manager's side; elsewhere than on Linux there is none.
type Will struct{}

// New fails: there are guardians on Linux alone.
func New() (guardian.Files, error) { return guardian.Files{}, errors.ErrUnsupported }

// Close does nothing.
func Close(guardian.Files) {}

// Open fails.
func Open(guardian.Files) (*Will, error) { return nil, errors.ErrUnsupported }

// Leave does nothing.
func (*Will) Leave(Testament) error { return nil }

// Settled does nothing.
func (*Will) Settled() {}

// Begin does nothing.
func (*Will) Begin() {}

// End does nothing.
func (*Will) End(time.Duration) {}

// Keep does nothing.
func (*Will) Keep(net.Conn) (gone func(lost time.Duration)) { return func(time.Duration) {} }

// Estate is what the heir finds.
type Estate struct{ Testament }

// Read fails.
func Read(guardian.Files) (*Estate, error) { return nil, errors.ErrUnsupported }

// Over fails.
func (*Estate) Over(time.Time) (writes int64, err error) { return 0, errors.ErrUnsupported }
