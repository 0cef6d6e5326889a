//go:build !linux

package sandbox

import (
	"context"
	"errors"
)

func runChild(context.Context, []byte, ...string) error {
	return errors.New("this needs limits on a process that only Linux has: run windlass on Linux")
}
