//go:build !linux

package sandbox

import (
	"context"
	"errors"
)

func runChild(context.Context, []byte, ...string) error {
	return errors.New("only Linux bounds a process as this needs it: run windlass there")
}
